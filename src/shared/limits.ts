/** Every bound of the service, written once, with its unit last. A bound that follows from another is asserted below. */
export const limits = {
  /** Characters (code points) of a user id and of an idempotency key (semantics.md, "Users"). */
  maxIdChars: 255,
  /** Characters of the other texts that callers send: names, e-mail addresses, attribute values. */
  maxTextChars: 1_000,
  /** Characters of an e-mail address. Postgres has them in an index, which takes texts of at most 2,700 bytes. */
  maxEmailChars: 320,
  /** Bytes of the attribute values that make a group of a leaderboard, which share them evenly: groups are in indexes too, beside the user's id. */
  maxGroupBytes: 1_000,
  maxDeviceTokens: 100,
  maxDeviceTokenChars: 4_096,
  /** Characters of a key that an operator chooses (`flashcards-viewed`). */
  maxKeyChars: 255,
  /** Complaints that one sentence makes about what a caller sent; it says how many more there are. */
  maxComplaints: 20,
  /** Attribute filters of one object, of users and of events each, and attributes that one leaderboard is broken down by. */
  maxFilters: 20,
  /** Attribute filters of all objects of a tenant: Redis unpacks the plan, with all of them, in one call. */
  maxAllFilters: 10_000,
  maxBreakdownAttributes: 10,
  /** Bytes of a request body. */
  maxBodyBytes: 128 * 1024,
  /** Numbers of days after which users are written to who have done nothing, and the longest of them. */
  maxReactivations: 10,
  maxReactivationDays: 365,
  /** Users whom one step of telling when e-mails are due looks at. */
  emailPageUsers: 500,
  /** Bytes of all request headers together. */
  maxHeaderBytes: 16 * 1024,
  /** How long the headers of a request, and the whole of it, may take to arrive, and how often connections are looked at for it. */
  requestHeadersMs: 10_000,
  requestMs: 30_000,
  requestCheckMs: 1_000,
  /** How long a connection may move no byte while an answer is due or under way. */
  connectionIdleMs: 60_000,
  /** Requests of one connection that are worked on at the same time; later ones wait, and no more of them are read. */
  maxPipelinedRequests: 4,
  /** Seconds for which a browser may remember that an origin is allowed. */
  corsMaxAgeS: 600,
  /** Connections that a process has open at the same time; others are closed at once. */
  maxConnections: 10_000,
  /** The absolute value that an event, a metric total or a points total may have (semantics.md, "Numbers"). */
  maxAbsoluteTotal: 1e15,
  /** Participants of one leaderboard (spec, "Limits"). */
  maxParticipants: 1_000,
  /** Streak freezes that a user can hold (semantics.md, "Streaks"). */
  maxFreezes: 100,
  /** Conditions of a streak. */
  maxStreakConditions: 20,
  /** Pauses that one user can have, past ones included. */
  maxPausesPerUser: 100,
  /** Awards that the user-points call returns (spec, "Limits"). */
  maxAwardsRead: 100,
  /** Awards that Redis keeps for each user and points system: trimmed back to maxAwardsRead when there are more, so once in 12 awards. */
  maxAwardsKept: 112,
  /** Rows of one page of rankings. */
  maxRankingsPage: 1_000,
  /** Periods of a streak's history that one call returns. */
  maxHistoryPeriods: 400,
  /** Users whose streaks one call ranks. */
  maxStreakUsers: 100,
  /** Events of one batch (contract, admin_metrics_batch_events), and bytes of its body: about 2 KiB for each. */
  maxBatchEvents: 1_000,
  maxBatchEventsBytes: 2 * 1024 * 1024,
  /** What one event, and one step of settling a user, may take of Redis' time at the most by the estimate of config/work.ts. */
  maxEventWorkUs: 20_000,
  maxSettleWorkUs: 10_000,
  /** Prerequisites of all achievements of a tenant that are completed with others. */
  maxPrerequisites: 10_000,
  /** The work that one call of the library does for several users before it leaves the rest to the next, by the same estimate. */
  callWorkUs: 10_000,
  /**
   * The work of the events of a batch that one call counts, and of those that are sent in one round trip, or one event if it is more. Redis
   * may read a whole round trip before it looks at others, so that is what others wait for.
   */
  batchPartWorkUs: 5_000,
  batchRoundTripWorkUs: 20_000,
  /** Pipelined batches of which the function library tracks the next part. */
  maxOpenBatches: 1_000,
  /** Rows that one Postgres transaction deletes of a user: the rest is for the next. */
  forgetRows: 20_000,
  /** Messages about several users out of which one transaction takes a user who is deleted. */
  forgetMessages: 100,
  /** Users that one page of the list of users has at most, and at the least what is skipped. */
  maxUsersPage: 100,
  maxUsersSkipped: 1_000_000,
  /** Items of a batch of the Admin API (contract, `maxItems`). */
  maxBatchItems: 100,
  /** Days of a user's leaderboard history that one call returns (contract, `numEvents`). */
  maxHistoryDays: 100,
  /** Days of one event summary (semantics.md, "Reads"). */
  maxSummaryDays: 400,
  /** Ranges of a points summary, besides that of the users without points. */
  maxPointsRanges: 10,
  /** Values of one event attribute that a year in review tells apart. */
  maxWrappedValues: 100,
  /** Rows of others that one percentile of a year in review is taken from. */
  percentileRows: 20_000,
  /** Decimal places of a boost's multiplier: the product of boosts is computed exactly, so its digits are bounded. */
  maxMultiplierDecimals: 6,
  /** Characters of a boost's name (contract, CreatePointsBoostRequestItem). */
  maxBoostNameChars: 255,
  /** Hours or days between two awards of a time trigger. */
  maxTriggerIntervalUnits: 10_000,
  /** Local days between two freezes that are earned. */
  maxFreezeIntervalDays: 10_000,
  /** Days, months or years of one run of a repeating leaderboard: few enough that the end of a run has a year of four digits. */
  maxRunUnits: 1_000,
  /** Days for which idempotency keys are kept where they are not kept for ever. */
  maxRetentionDays: 36_500,
  /** Objects of one kind in a tenant's configuration. */
  maxConfigObjects: 1_000,
  /** Items of one list of a configuration file: more than can be in use, so that a sentence can say how many there are. */
  maxListItems: 10_000,
  /** Webhook endpoints of a tenant: each message is kept once for each of them that subscribes to it. */
  maxWebhooks: 50,
  maxWebhookUrlChars: 2_048,
  /** How long a receiver may take to answer, and to be connected to; then the delivery has failed. */
  webhookAnswerMs: 60_000,
  webhookConnectMs: 10_000,
  /** How long the body of an answer is waited for, and how much of it is read and kept. */
  webhookAnswerBodyMs: 5_000,
  webhookAnswerBytes: 4_096,
  /** How long the caller of a test waits for the receiver. */
  webhookTestMs: 10_000,
  /** Tries after the first one, and the pause before the first of them; each pause is twice the one before. */
  webhookRetries: 3,
  webhookFirstRetryMs: 60_000,
  /** Tries that a delivery remembers: those of the first time, and of having been sent again once. */
  webhookTriesKept: 8,
  /** Deliveries to one endpoint that one worker tries at the same time. */
  webhookConcurrency: 10,
  /** Endpoints whose queues one worker turns at the same time; each takes a connection to Postgres for some milliseconds. */
  webhookBatches: 3,
  /** Waiting deliveries that one turn looks at. */
  webhookPage: 200,
  /** For how long a delivery is a worker's that tries it: longer than a try can take. */
  webhookClaimMs: 90_000,
  /** How often a worker looks for deliveries that it has not been told of: retries, and those of other processes. */
  webhookPollMs: 500,
  /** How long an endpoint fails, with not one success, before it is switched off. */
  webhookSwitchOffMs: 5 * 86_400_000,
  /** How long messages and what became of them are kept, how often old ones are looked for, and how many go in one statement. */
  webhookRetentionMs: 7 * 86_400_000,
  webhookSweepMs: 60_000,
  webhookSweepRows: 1_000,
  /** For how long the secret before a rotation stays valid, and the longest that can be asked for. */
  webhookOverlapHours: 24,
  maxWebhookOverlapHours: 168,
  /** Bytes of a configuration file. */
  maxConfigFileBytes: 1024 * 1024,
  /** Collections inside each other in a configuration file: one needs 7, and the recursive part of the parser dies at some thousands. */
  maxYamlLevels: 32,
  /** Uses of aliases in a configuration file, each of which may stand for a large object. */
  maxYamlAliases: 100,
  /** How often a change is planned again because another writer was faster. Every round lets one through, so this many can collide. */
  maxApplyAttempts: 20,
  /**
   * Ledger entries that one Postgres transaction takes: at first, and when the write-behind is behind and Postgres is fast. More write fewer rows for an
   * event, since a user's state is written once for a batch.
   */
  writeBehindBatchEntries: 1_000,
  writeBehindMaxBatchEntries: 16_000,
  /** Bytes of Node's heap for each entry of the largest batch: 8,000 entries in 512 MB, for four tenants at a time, each with a batch that is read ahead. */
  writeBehindHeapBytesPerEntry: 64 * 1024,
  /** A batch that took less is followed by one of eight times as many entries; one that took twice as long by one of half as many. */
  writeBehindBatchMs: 1_000,
  /** Rows of one statement: encoding them keeps the process from serving requests for a few ms. */
  writeBehindStatementRows: 4_000,
  /** Ledger entries that one read of Redis takes: Redis serves no other caller until it has sent them. */
  writeBehindReadEntries: 1_000,
  /** Ledger entries that are made into rows at a time: some 10 ms in which a process that serves requests as well answers none. */
  writeBehindPartEntries: 250,
  /** Ledger entries of a tenant that may wait for Postgres, unless MAX_LEDGER_ENTRIES says otherwise (docs/operations/back-pressure.md). */
  maxLedgerEntries: 1_000_000,
  /** Seconds after which a caller is to try again while the ledger is full. */
  ledgerFullRetryS: 5,
  /** Ledger entries that the function library appends before it looks at the length of the ledger again. */
  ledgerLookEntries: 1_000,
  /** Pause of the write-behind when a stream held nothing new, before it looks once more and then waits to be told. */
  writeBehindIdleMs: 15,
  /** Tenants whose ledgers one worker writes down at the same time; each takes a connection to Postgres. The others take turns. */
  writeBehindTenants: 4,
  /** How often, and for how many tenants at once, a worker looks for ledgers that it has not been told of: 1,000 tenants take 5 s. */
  writeBehindScanMs: 1_000,
  writeBehindScanTenants: 200,
  /**
   * Entries in a row that Postgres may refuse: more can't be the entries' fault, so the write-behind stops and tries again. Counted by each worker for
   * each ledger, until an entry gets through.
   */
  maxDeadLettersInARow: 100,
  /** Dead letters on a page of their list. */
  maxDeadLettersPage: 100,
  /** First and longest pause of the write-behind after a failed batch: less than a read waits for it, so that what is mended is read at once. */
  writeBehindRetryMs: 100,
  writeBehindRetryMaxMs: 2_000,
  /** Tenants whose ledgers are looked at when somebody asks how far Postgres is behind. */
  maxLagTenants: 1_000,
  /** How long a write-behind lease lasts without being renewed. Renewed with every batch, and when idle at a third of it. */
  leaseMs: 3_000,
  /** How long Postgres may take to answer one statement before it counts as away. */
  postgresQueryTimeoutMs: 5_000,
  /** How long one may take that is about all users of a tenant, of which only jobs, restore and verify have any. */
  postgresOverAllTimeoutMs: 3_600_000,
  /** How long a read that Postgres answers waits for the write-behind before it gives up with a 503. */
  readYourWritesWaitMs: 5_000,
  /** How often a cluster is asked which master has which slots: how long the new one of a dead master can stay unknown. */
  redisSlotsRefreshMs: 2_000,
  /** How long one Redis call may take before the request is answered with a 503. */
  redisCallTimeoutMs: 5_000,
  /** How often a command is sent on to another node of a cluster, and the pause from the second time on, while the nodes may not agree. */
  maxRedisMoves: 8,
  redisMovePauseMs: 50,
  /**
   * How long a process goes by what it knows of tenants and keys without asking, and for how long others wait for it before they take it for
   * dead. The second is longer, since it starts later and clocks differ.
   */
  accountLeaseMs: 1_500,
  accountLeaseWaitMs: 3_000,
  /** How often a process asks. */
  accountRenewMs: 500,
  /** How long a change of tenants or keys may take to reach every process before its caller gets a 503. */
  accountSettleMs: 5_000,
  /** How often a process compares what it knows of tenants and keys with Postgres, whatever it has been told. */
  accountCheckMs: 5_000,
  /** Keys of tenants that a process keeps in memory; the others are looked up in Postgres. */
  maxCachedKeys: 20_000,
  /** Keys that one look-up in Postgres asks for: those that wait for the one before. */
  keyLookupBatch: 100,
  /** Admin keys that an account, and each of its tenants, can have, revoked ones included. */
  maxAdminKeys: 100,
  /** Application keys that one user can have. */
  maxKeysPerUser: 100,
  /** How often a process writes down when keys were last used. */
  keyUseMs: 60_000,
  /** Characters of the names of tenants and keys, and of a customer's id (contract, CreateTenantRequestItem). */
  maxNameChars: 255,
  /** Tenants of an account. */
  maxTenants: 100_000,
  /** Pause before a new configuration is taken over again after that failed. */
  configRetryMs: 1_000,
  /** How often an event is sent again after Redis answered that it lacks the plan, a zone, or the newest configuration. */
  maxEngineAttempts: 6,
  /** How long a stop waits for requests under way, and then for the write-behind to drain. */
  stopRequestsMs: 10_000,
  /** How long a stop leaves idle connections open, so that requests on their way still get an answer. */
  stopIdleMs: 300,
  stopDrainMs: 10_000,
  /** For how long a worker without the API writes down what it has, before another takes over. */
  stopHandOverMs: 1_000,
  /** Users who are restored in one step: other tenants wait for it, for about 10 ms. Chunks that are read, and written, ahead of each other. */
  restoreUsers: 200,
  restoreReadsAhead: 2,
  /** Idempotency keys of theirs that one statement reads; where they have more, how many Redis is given in one step. */
  restoreKeys: 50_000,
  restoreKeysAtOnce: 5_000,
  restoreWritesAhead: 2,
  /** How often a restore makes sure that it is still the one: well within its lease. */
  restoreRenewMs: 1_000,
  /** Keys that one scan looks at while an older Redis is emptied. */
  restoreScanKeys: 1_000,
  /** Users who are compared in one step, such steps at the same time, and how often what seems to differ is looked at again. */
  verifyUsers: 200,
  verifyAhead: 3,
  verifyConfirmations: 3,
  /** Users on a leaderboard who are compared in one step. */
  verifyPlaces: 1_000,
  /** Earlier lives of Redis that it knows of, so that a Postgres of their time is known as one. */
  maxPastEpochs: 100,
  /**
   * For how long no process may have confirmed another Redis before this one becomes active, how long a confirmation is good for in memory, which is
   * shorter, after which break a process asks anew, and when the confirmation of a process that was killed is removed.
   */
  redisSilenceMs: 5_000,
  redisGrantMs: 1_000,
  redisAskMs: 3_000,
  redisForgetMs: 60_000,
  /** Tenants at which a process looks, once a second, for one that holds a current epoch, and how long it waits for a server's answer. */
  redisHeldTenants: 100,
  redisLookMs: 1_000,
  /** How long a start waits for another Redis to be silent, and how often it looks. */
  redisStartWaitMs: 8_000,
  redisStartLookMs: 250,
  /** Ledger entries that a restore saves in one statement. */
  restoreSaveEntries: 500,
  /** How long the lease of a restore lasts without being renewed, which every step does. */
  restoreLeaseMs: 30_000,
  /** Tenants that a worker restores at once, how often it says how far one is, and when it looks again after a failure or at another's restore. */
  reconcileTenants: 2,
  reconcileLogMs: 5_000,
  /** `laurel status`: connections to Postgres, a backlog that is a problem, and how old the confirmation of a running process may be. */
  statusConnections: 2,
  statusLagS: 60,
  statusConfirmedS: 10,
  /** How often restore and verify print a line where there is no terminal. */
  progressLineMs: 5_000,
  reconcileRetryMs: 500,
  /** After which time a caller who has met a restore is asked to try again. */
  restoreRetryAfterS: 2,
  /** How long a scrape of the metrics waits for what is looked up in the stores, and for how many tenants it looks that it has not heard of. */
  metricsWaitMs: 1_000,
  metricsTenants: 250,
  /** Tenants that are known to have something to do at which one scrape looks again, and of how many the lag is told by name. */
  metricsBusyTenants: 1_000,
  metricsWorstTenants: 5,
  /** How many dead letters a scrape counts at most. */
  metricsDeadLetters: 1_000,
  /** Tenants with refused requests at which one scrape looks whether they are ready again. */
  metricsUnreadyTenants: 100,
  /** How often requests that were answered with 503 are summed up in the log. */
  refusalsLogMs: 10_000,
  /** How long sending traces may take, also when the service stops. */
  tracesSendMs: 5_000,
  /** Characters of an X-Request-Id header that is taken over. */
  maxRequestIdChars: 128,
  /** Hours of a user's time that one call settles, fewer where the time triggers have much to do; the rest is for the next call. */
  maxSettleHours: 240,
  /** Users that one call of the sweep settles: events wait meanwhile, for about 2 ms. */
  sweepUsers: 25,
  /** Idempotency keys that one step of looking for those that have grown too old takes, and steps after which the sweep has its turn. */
  retentionPageKeys: 1_000,
  retentionPagesPerRun: 20,
  /** Tenants that the sweep begins each second, and that it works on at the same time: 1,000 idle tenants are looked at every 10 s. */
  sweepTenants: 100,
  sweepTenantsAtOnce: 8,
  /** Users whom one step of an activation enters. */
  activationUsers: 200,
  /** Users who are read at once for a leaderboard: each time, all of the tenant's are looked at and sorted. */
  activationReadUsers: 50_000,
  /** Users whom one step of counting levels anew counts, and at how many it looks for those who have another level than they should. */
  relevelUsers: 200,
  relevelLook: 5_000,
  /** How long after its end in UTC a run is final: every time zone has then ended it (semantics.md, "Leaderboards"). */
  finalisationDelayMs: 12 * 3_600_000,
  /** How often at the most receivers are told of a user's points, of a board, and of a user's place on it (docs/webhooks.md). */
  toldEveryMs: 15 * 60_000,
  /** How often at the most the places of a board that goes on changing are compared with what users were told. */
  ranksComparedEveryMs: 60_000,
  /** Changes of points, boards, and groups of a final run that one transaction tells, and transactions after which the sweep has its turn. */
  toldPointsAtOnce: 200,
  toldBoardsAtOnce: 5,
  tellingsPerRun: 20,
  /** Runs of a leaderboard that have begun while nobody looked and are told one by one; of more, the newest. */
  toldRuns: 100,
  /** Plans, call contexts (one for each tenant and process' version), and time zones that the function library caches in Redis' Lua. */
  maxCachedPlans: 256,
  maxCachedContexts: 4_096,
  maxCachedZones: 2_048,
  /** Seconds that a superseded plan stays in Redis, for processes that have not switched yet. */
  supersededPlanTtlS: 3_600,
} as const;
