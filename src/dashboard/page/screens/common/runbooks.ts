/** The runbooks of docs/operations/runbooks.md that a part of the status leads to. */
export const runbooks = {
  redis: ['LaurelRedisAway', 'LaurelRedisPersistence', 'LaurelRedisMemory', 'LaurelRedisReplicaMissing'],
  postgres: ['LaurelPostgresAway', 'LaurelPostgresConnections', 'LaurelDiskFilling'],
  processes: ['LaurelWorkerMissing', 'LaurelProcessMissing', 'LaurelProcessFailing'],
  ledger: ['LaurelLedgerLag', 'LaurelLedgerNearLimit', 'LaurelWriteBehindFailing'],
  tenants: ['LaurelTenantNotReady', 'LaurelRestoreRunning', 'LaurelRestoreStuck'],
  restores: ['LaurelRestoreRunning', 'LaurelRestoresRepeated', 'LaurelDiscardedEntries'],
  deadLetters: ['LaurelDeadLetters', 'LaurelDeadLettersLeft'],
  webhooks: ['LaurelWebhooksLate', 'LaurelWebhookSwitchedOff'],
  messages: ['LaurelMessagesLate', 'LaurelMessageChannelDown', 'LaurelMessagesFailing'],
} as const;
