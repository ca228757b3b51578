import { messageLimits } from './message-limits.js';

/** Every limit of the service, with its unit last in the name. test/unit/limits.test.ts asserts the relations between them. */
export const limits = {
  /** Characters (code points) of a user id and of an idempotency key (docs/rules/users.md). */
  maxIdChars: 255,
  /** Characters of other texts in requests: names, attribute values. */
  maxTextChars: 1_000,
  /** Characters of an e-mail address. A Postgres index entry is at most 2,700 bytes. */
  maxEmailChars: 320,
  /** Bytes of the attribute values that identify a group of a leaderboard, shared evenly. They are in an index too, beside the user's id. */
  maxGroupBytes: 1_000,
  maxDeviceTokens: 100,
  maxDeviceTokenChars: 4_096,
  /** Characters of a key that an operator chooses (`flashcards-viewed`). */
  maxKeyChars: 255,
  /** Problems that one error message names. It counts the rest. */
  maxComplaints: 20,
  /** Attribute filters of one object, for users and for events each, and breakdown attributes of one leaderboard. */
  maxFilters: 20,
  /** Attribute filters of all objects of a tenant, which Redis unpacks in one call. */
  maxAllFilters: 10_000,
  maxBreakdownAttributes: 10,
  /** Bytes of a request body. */
  maxBodyBytes: 128 * 1024,
  /**
   * Characters of a body that are parsed in one turn of the event loop: 64 KiB of different keys take about 10 ms; and values of a larger body, where a
   * field counts as two: 1,000 events of 100 fields each, or any file that has maxYamlNodes.
   */
  parsedAtOnceChars: 64 * 1024,
  /** How long the items of a list are parsed before other requests have their turn. */
  parseTurnMs: 5,
  maxBodyValues: 200_000,
  /** Parameters of a query string: Koa's parser takes time that grows with their square. */
  maxQueryParameters: 300,
  /** Reactivation e-mails of a tenant, and the longest inactivity that triggers one. */
  maxReactivations: 10,
  maxReactivationDays: 365,
  /** Users that one step of an e-mail schedule reads. */
  emailPageUsers: 500,
  /** RATE_LIMIT_COSTLY: requests of one key to costly routes in a window of RATE_LIMIT_WINDOW_S; and those that wait for one of the same key. */
  costlyRequests: 120,
  /** RATE_LIMIT_COSTLY_S: seconds in worker threads that those of one key may take in such a window. */
  costlyS: 20,
  maxCostlyWaiting: 10,
  /** Bytes of all request headers together. */
  maxHeaderBytes: 16 * 1024,
  /** Timeouts for the headers and for the whole of a request, and how often they are checked. */
  requestHeadersMs: 10_000,
  requestMs: 30_000,
  requestCheckMs: 1_000,
  /** Timeout of a connection without traffic during a request. */
  connectionIdleMs: 60_000,
  /** Concurrent requests of one connection. Later ones wait, and no more are read. */
  maxPipelinedRequests: 4,
  /** How long browsers may cache that an origin is allowed. */
  corsMaxAgeS: 600,
  /** Open connections of a process. Further ones are closed at once. */
  maxConnections: 10_000,
  /** Largest absolute value of an event, a metric total or a points total (docs/rules/metrics.md). */
  maxAbsoluteTotal: 1e15,
  /** Participants of one leaderboard (docs/rules/leaderboards.md). */
  maxParticipants: 1_000,
  /** Streak freezes that a user can hold (docs/rules/streaks.md). */
  maxFreezes: 100,
  /** Conditions of a streak. */
  maxStreakConditions: 20,
  /** Changes of the configuration that time is settled by, and that the worker has not settled all users up to (docs/rules/time.md). */
  maxEndedSegments: 20,
  /** Pauses that one user can have, past ones included. */
  maxPausesPerUser: 100,
  /** Awards in the response to a read of a user's points (docs/rules/points.md). */
  maxAwardsRead: 100,
  /** Awards that Redis stores for each user and points system. Beyond it, the list is trimmed to maxAwardsRead, so once in 12 awards. */
  maxAwardsKept: 112,
  /** Rows of a page of a leaderboard. */
  maxRankingsPage: 1_000,
  /** Periods of a streak's history in one response. */
  maxHistoryPeriods: 400,
  /** Users that one request can rank by streak. */
  maxStreakUsers: 100,
  /** Live streams: the time between two messages about a leaderboard. */
  liveIntervalMs: 500,
  /** For how long one turn of the event loop writes to live streams: requests are served in between. */
  liveTurnMs: 1,
  /** After this time at most, a leaderboard is read again without an announcement, which may be lost. */
  liveRefreshMs: 10_000,
  /** The time to the next read of a leaderboard that could not be read. */
  liveFailureMs: 2_000,
  /** How often a process of the API says that it watches a tenant, and how long that holds: changes are announced meanwhile. */
  liveRenewMs: 5_000,
  liveWatchMs: 15_000,
  /** The time in which streams of users that begin are announced to the workers together. */
  liveJoinMs: 25,
  /** How long a view that no connection watches is kept: a client that reconnects finds it. */
  liveLingerMs: 10_000,
  liveUserLingerMs: 60_000,
  /** Messages of a user that a process keeps for clients that reconnect, each for liveUserLingerMs. */
  liveUserMessages: 100,
  /** What these messages may take, in bytes. */
  liveUserBytes: 32 * 1024,
  /** Views of leaderboards, and of users, that a process keeps without a connection that watches them. */
  maxIdleBoardViews: 500,
  maxIdleUserViews: 10_000,
  /** Leaderboards that a process reads at once for live streams. */
  liveReads: 32,
  /** The time between two messages of a connection, comments included: proxies close a silent connection after a minute. */
  liveHeartbeatMs: 15_000,
  /** When a client may retry whose stream exceeded the settings. */
  liveRefusedRetryS: 5,
  /** The shortest and the longest time after which clients reconnect, each at random: all at once would exceed what a process can open. */
  liveRetryMinMs: 500,
  liveRetryMaxMs: 5_000,
  /** Users that a message for live streams names; one about more says that anything may have changed. */
  maxAnnouncedUsers: 5_000,
  /** The same for how often it names them, once for each leaderboard that a user was moved on: the message is read in one turn of the event loop. */
  maxAnnouncedMoves: 10_000,
  /** Entries of watched users in one message, in characters: Redis disconnects a subscriber for whom 32 MB wait. */
  maxAnnouncedChars: 256 * 1024,
  /** How long a live token is valid, in seconds, and the leaderboards that it may name. */
  maxLiveTokenS: 3_600,
  maxLiveTokenLeaderboards: 20,
  /** Users that one request can rank on a leaderboard (`userIds`). */
  maxListedUsers: 200,
  /** Events of one batch (contract, admin_metrics_batch_events), and bytes of its body: about 2 KiB for each. */
  maxBatchEvents: 1_000,
  maxBatchEventsBytes: 2 * 1024 * 1024,
  /** Time in Redis that one event, and one step of settling a user, may take by the estimate of config/check/work.ts. */
  maxEventWorkUs: 20_000,
  maxSettleWorkUs: 10_000,
  /** Prerequisites of all achievements of a tenant. */
  maxPrerequisites: 10_000,
  /** Work for several users in one function call, by the same estimate. The rest is for the next call. */
  callWorkUs: 10_000,
  /**
   * Work of a batch's events in one function call, and in one round trip; at least one event. Redis may execute a whole round trip before it
   * serves other clients, so they wait that long.
   */
  batchPartWorkUs: 5_000,
  batchRoundTripWorkUs: 20_000,
  /** Events of a batch that a process prepares in one turn of its event loop, each up to 0.05 ms. */
  batchTurnEvents: 100,
  /** Concurrent batches whose next part the function library tracks. */
  maxOpenBatches: 1_000,
  /** Rows of a deleted user that one Postgres transaction deletes. */
  forgetRows: 20_000,
  /** Messages about several users from which one transaction removes a deleted user. */
  forgetMessages: 100,
  /** Page size and largest offset of the list of users. */
  maxUsersPage: 100,
  maxUsersSkipped: 1_000_000,
  /** Items of a batch of the Admin API (contract, `maxItems`). */
  maxBatchItems: 100,
  /** Days of a user's leaderboard history in one response (contract, `numEvents`). */
  maxHistoryDays: 100,
  /** Rows of users' histories that a process caches (history/recent-rows.ts); about 0.3 kB each. */
  maxCachedHistoryRows: 100_000,
  /** Dates that a process caches as text. */
  maxCachedDates: 10_000,
  /** Days of one event summary (docs/rules/summaries.md). */
  maxSummaryDays: 400,
  /** Ranges of a points summary, besides the one of users without points. */
  maxPointsRanges: 10,
  /** Distinct values of one event attribute in a year in review. */
  maxWrappedValues: 100,
  /** Rows of other users that a percentile of a year in review is computed from. */
  percentileRows: 20_000,
  /** Decimal places of a boost's multiplier. The product of boosts is exact, so its digits are limited. */
  maxMultiplierDecimals: 6,
  /** Earlier terms that a configuration keeps of one boost, for awards under them. */
  maxEarlierTerms: 100,
  /** Characters of a boost's name (contract, CreatePointsBoostRequestItem). */
  maxBoostNameChars: 255,
  /** Hours or days between two awards of a time trigger. */
  maxTriggerIntervalUnits: 10_000,
  maxAnniversaryYears: 1_000,
  /** Local days between two earned freezes. */
  maxFreezeIntervalDays: 10_000,
  /** Days, months or years of one run of a leaderboard, so that the end of a run has a year of four digits. */
  maxRunUnits: 1_000,
  /** Longest retention of idempotency keys, if it is limited. */
  maxRetentionDays: 36_500,
  /** Objects of one kind in a tenant's configuration. */
  maxConfigObjects: 1_000,
  /** Items of one list of a configuration file: above maxConfigObjects, so that the error can state how many there are. */
  maxListItems: 10_000,
  /** Webhook endpoints of a tenant. Each message is stored once for each subscriber. */
  maxWebhooks: 50,
  maxWebhookUrlChars: 2_048,
  /** Timeouts of a webhook delivery: for the response, and for the connection. */
  webhookAnswerMs: 60_000,
  webhookConnectMs: 10_000,
  /** When the lookup of a name that has no public address ends. Below webhookConnectMs and webhookTestMs, whose errors would differ. */
  webhookLookupMs: 8_000,
  /** Timeout and stored bytes of the body of a subscriber's response. */
  webhookAnswerBodyMs: 5_000,
  webhookAnswerBytes: 4_096,
  /** Timeout of a test delivery. */
  webhookTestMs: 10_000,
  /** Retries, and the delay before the first one, which doubles each time. */
  webhookRetries: 3,
  webhookFirstRetryMs: 60_000,
  /** Attempts that a delivery stores: those of the first time, and of one redelivery. */
  deliveryTriesKept: 8,
  /** Concurrent deliveries of one worker to one endpoint. */
  webhookConcurrency: 10,
  /** Endpoints and channels whose batches one worker processes concurrently; each uses a connection to Postgres for some milliseconds. */
  deliveryBatches: 3,
  /** Waiting deliveries that one batch reads: reading 200 to claim the few that a batch has room for took Postgres 2.8 ms a message, 1.0 ms with 40. */
  deliveryPage: 40,
  /** How long a worker claims a delivery: longer than an attempt can take. */
  deliveryClaimMs: 90_000,
  /** Polling interval for deliveries that were not announced: retries, and those of other processes. */
  deliveryPollMs: 500,
  /** How long an endpoint fails without a success before it is disabled. */
  webhookSwitchOffMs: 5 * 86_400_000,
  /** Retention of messages and their deliveries, how often old ones are deleted, and how many rows one statement deletes. */
  deliveryRetentionMs: 7 * 86_400_000,
  deliverySweepMs: 60_000,
  deliverySweepRows: 1_000,
  /** Failed deliveries that one request to send them again looks at, and up to how many it counts those that are left. */
  resendRows: 1_000,
  resendCounted: 10_000,
  /** How long the previous secret stays valid after a rotation: default and maximum. */
  webhookOverlapHours: 24,
  maxWebhookOverlapHours: 168,
  // Configuration over HTTP.
  /** Bytes of a request with a configuration file: a text grows when JSON escapes its quotes and line ends. */
  maxConfigRequestBytes: 2 * 1024 * 1024,
  /** Versions of a configuration on one page, each compared with the one before it, and changes that the list describes of each. */
  maxVersionsPage: 50,
  maxVersionLines: 20,
  /** The highest number of a version: Postgres stores it as an integer. */
  maxVersionNo: 2_147_483_647,
  /** Time for counting what a change of the configuration would do to users. What takes longer is not counted. */
  countEffectsMs: 400,
  /** How far back the awards of a trigger are counted that is switched off. */
  effectAwardDays: 30,
  /**
   * Time and heap of one task of the thread that processes configurations, of which the largest takes about 1 s and 200 MB; and objects of a
   * configuration, times its edits, that are processed without the thread, in a few ms.
   */
  configWorkMs: 10_000,
  configThreadMb: 768,
  inPlaceObjects: 50,
  /** Bytes of a configuration file. */
  maxConfigFileBytes: 1024 * 1024,
  /** Nesting of a configuration file. A valid file has 7 levels, and the recursive parser overflows at some thousands. */
  maxYamlLevels: 32,
  /** Scalars, items and fields of a configuration file: building the document of 1 MiB of short nested ones would take seconds and 500 MB. */
  maxYamlNodes: 200_000,
  /** Tokens of a configuration file, spaces and line ends included. A file of 1 MiB with objects of two short fields has 370,000. */
  maxYamlLexemes: 600_000,
  /** Uses of aliases in a configuration file, each of which may expand to a large object. */
  maxYamlAliases: 100,
  /** Anchors and tags of a configuration file, and its lines without a value (comments, empty ones, in texts). A parser takes up to 0.1 ms for each. */
  maxYamlMarks: 1_000,
  maxYamlIdleLines: 50_000,
  /** Errors of YAML after which a file is not read on. */
  maxYamlErrors: 100,
  /** Attempts of a change that conflicts with concurrent ones. Each attempt lets one writer succeed, so this many can collide. */
  maxApplyAttempts: 20,
  /**
   * Ledger entries of one Postgres transaction: at first, and while the write-behind has a backlog and Postgres is fast. A larger batch writes fewer
   * rows per event, since it writes a user's state once.
   */
  writeBehindBatchEntries: 1_000,
  writeBehindMaxBatchEntries: 16_000,
  /** Bytes of Node's heap for each entry of the largest batch: 8,000 entries in 512 MB, for four tenants at a time, each with a prefetched batch. */
  writeBehindHeapBytesPerEntry: 64 * 1024,
  /** Target duration: a faster batch is followed by one of eight times as many entries, one that takes twice as long by one of half as many. */
  writeBehindBatchMs: 1_000,
  /** Rows of one statement. Encoding them blocks the event loop for a few ms. */
  writeBehindStatementRows: 4_000,
  /** Ledger entries of one read, which blocks Redis. */
  writeBehindReadEntries: 1_000,
  /** Ledger entries that are decoded at a time, which blocks the event loop for some 10 ms. */
  writeBehindPartEntries: 250,
  /** Default of MAX_LEDGER_ENTRIES: entries of a tenant that may wait for Postgres (docs/operations/back-pressure.md). */
  maxLedgerEntries: 1_000_000,
  /** `Retry-After` while the ledger is at its limit. */
  ledgerFullRetryS: 5,
  /** Ledger entries that the function library appends between two checks of the ledger's length. */
  ledgerLookEntries: 1_000,
  /**
   * From the start of a batch to the next one, unless a reader waits for it: with 2,500 events a second of 1,000 users, write-behind and Postgres use
   * 0.4 ms of CPU an event without it, 0.22 with 100 ms, and 0.15 with 250.
   */
  writeBehindCollectMs: 250,
  /** Tenants whose ledgers one worker writes concurrently; each uses a connection to Postgres. */
  writeBehindTenants: 4,
  /** How often, and for how many tenants, a worker scans for entries that were not announced: 1,000 tenants take 5 s. */
  writeBehindScanMs: 1_000,
  writeBehindScanTenants: 200,
  /** Consecutive entries that Postgres may reject. More can't be the entries' fault, so the write-behind retries. Per worker and ledger. */
  maxDeadLettersInARow: 100,
  /** Page size of the list of dead letters. */
  maxDeadLettersPage: 100,
  /** First and longest delay after a failed batch: shorter than readYourWritesWaitMs, so that a read succeeds after a recovery. */
  writeBehindRetryMs: 100,
  writeBehindRetryMaxMs: 2_000,
  /** Lifetime of a write-behind lease. Renewed with every batch, and after a third of it when idle. */
  leaseMs: 3_000,
  /** How long a start waits for another one that migrates the database. */
  migrationLockMs: 300_000,
  /** Timeout of a statement, after which Postgres counts as unavailable. */
  postgresQueryTimeoutMs: 5_000,
  /** Timeout of a statement over all users of a tenant, in jobs, restore and verify. */
  postgresOverAllTimeoutMs: 3_600_000,
  /** How long a read from Postgres waits for the write-behind before it returns a 503. */
  readYourWritesWaitMs: 5_000,
  /** How often the slots of a cluster are refreshed, which is how long a failover can stay unknown. */
  redisSlotsRefreshMs: 2_000,
  /** Timeout of a Redis call, after which the request gets a 503. */
  redisCallTimeoutMs: 5_000,
  /** Commands that leave a connection to Redis in one write, and writes without a reply beyond which further commands are gathered (redis/turns.ts). */
  maxCommandsInWrite: 256,
  maxWritesInFlight: 2,
  /** REPLICAS, and REPLICA_TIMEOUT: a call may be behind as many writes as are in flight, each of which waits so long, and must not time out. */
  maxReplicas: 10,
  minReplicaTimeoutMs: 10,
  maxReplicaTimeoutMs: 800,
  /** How long Redis stores the key that is written before a wait for replicas (redis/turns.ts). */
  replicaFenceTtlS: 60,
  /** Redirections of a command in a cluster, and the delay from the second one on, while the nodes may disagree. */
  maxRedisMoves: 8,
  redisMovePauseMs: 50,
  /**
   * How often a process polls Postgres for changes of tenants and keys: half of the second within which it must refuse a revoked key even if the
   * announcement was lost.
   */
  accountPollMs: 500,
  /** How often a process writes to Redis to notice that it is away or full. */
  redisProbeMs: 500,
  /** Keys of tenants that a process caches. Others are looked up in Postgres. */
  maxCachedKeys: 20_000,
  /** Keys of one look-up in Postgres: those that wait for the previous one. */
  keyLookupBatch: 100,
  /** Admin keys that an account, and each of its tenants, can have, revoked ones included. */
  maxAdminKeys: 100,
  /** Application keys that one user can have. */
  maxKeysPerUser: 100,
  /** How often a process saves when keys were last used. */
  keyUseMs: 60_000,
  // Sessions of the dashboard, and the audit log.
  sessionMs: 8 * 3_600_000,
  /** How long a process uses what it has read of a session. */
  sessionCacheMs: 500,
  maxCachedSessions: 1_000,
  /** Open sessions of one key. Another one ends the oldest. */
  maxSessionsPerKey: 100,
  /** Wrong keys in a window: from one address (of IPv6: one /64) before they are a 429, and from all before refusing them takes signInSlowedMs. */
  signInFailures: 10,
  allSignInFailures: 1_000,
  signInWindowS: 300,
  signInFailureMs: 250,
  signInSlowedMs: 2_000,
  /** Refusals of one process that wait. Further ones are a 429 at once. */
  maxWaitingSignIns: 1_000,
  /** How often a process notes X-Forwarded-For while TRUSTED_PROXIES is 0, and for how long it is a problem in the status. */
  untrustedProxyNoteMs: 30 * 60_000,
  untrustedProxyShownS: 3_600,
  /** Proxies in front of the service that TRUSTED_PROXIES can count. */
  maxTrustedProxies: 10,
  /** How long rows of application keys stay after the key has expired or was revoked. */
  endedKeyRetentionMs: 30 * 86_400_000,
  maxAuditSummaryChars: 500,
  /** Hexadecimal digits of the hash of an address in an entry of the audit log: too many for two addresses to share one. */
  auditHashChars: 32,
  /** Labels of objects in the summary of an entry of the audit log. It counts the rest. */
  maxAuditLabels: 10,
  /** Retention of the audit log, how often old entries and sessions are pruned, and how many rows one statement deletes. */
  auditRetentionMs: 400 * 86_400_000,
  accessPruneMs: 3_600_000,
  accessPruneRows: 1_000,
  /** Characters of the names of tenants and keys, and of a customer's id (contract, CreateTenantRequestItem). */
  maxNameChars: 255,
  /** Tenants of an account. */
  maxTenants: 100_000,
  /** Delay before a failed refresh of the configuration is retried. */
  configRetryMs: 1_000,
  /** Attempts of a call for which Redis lacks the plan, a zone, or the newest configuration. */
  maxEngineAttempts: 6,
  /** How long a shutdown waits for requests in flight, and then for the write-behind to drain. */
  stopRequestsMs: 10_000,
  /** How long a shutdown leaves idle connections open, for requests in transit. */
  stopIdleMs: 300,
  stopDrainMs: 10_000,
  /** How long a worker without the API drains before another takes over. */
  stopHandOverMs: 1_000,
  /** API processes of one supervisor. */
  maxApiProcesses: 64,
  /** Delay before a process that ended is replaced: at first, and at most. It doubles while processes end within processStableMs. */
  processRestartMs: 100,
  processRestartMaxMs: 5_000,
  processStableMs: 10_000,
  /** Failed starts of one process in a row after which the supervisor gives up, if no other process runs: about a minute. */
  maxFailedStarts: 15,
  /** How long a process may take to stop, beyond SHUTDOWN_DELAY, before it is killed: more than its own limits add up to. */
  processStopMs: 45_000,
  /** How long a process that is replaced leaves idle connections open: longer than Node's keep-alive of 5 s, which ends them without a race. */
  retireIdleMs: 6_500,
  /** How long a scrape waits for the metrics of a process: longer than metricsWaitMs, which the process waits for the stores. */
  processMetricsMs: 1_500,
  /** Bytes of a log line, which several processes write to one pipe: POSIX mixes no writes up to this size. */
  maxLogLineBytes: 4_096,
  /** Users restored in one step, which blocks Redis for about 10 ms, and prefetched chunks of reads and writes. */
  restoreUsers: 200,
  restoreReadsAhead: 2,
  /** Idempotency keys that one statement reads, and that one step writes to Redis. */
  restoreKeys: 50_000,
  restoreKeysAtOnce: 5_000,
  restoreWritesAhead: 2,
  /** How often a restore renews its lease. */
  restoreRenewMs: 1_000,
  /** Keys of one scan while an older partition is deleted. */
  restoreScanKeys: 1_000,
  /** Fields of a large hash that are read in one step. */
  hashFieldsRead: 5_000,
  /** Users compared in one step, concurrent steps, and how often an apparent difference is checked again. */
  verifyUsers: 200,
  verifyAhead: 3,
  verifyConfirmations: 3,
  /** Participants of a leaderboard compared in one step. */
  verifyPlaces: 1_000,
  /** Past epochs that Redis stores, by which it recognises an older Postgres. */
  maxPastEpochs: 100,
  /**
   * The active Redis (docs/architecture/redis.md): how long no process may have confirmed another one before this one becomes active; how long a grant is
   * valid in memory, which is shorter; after which gap a process requests a new one; and when a dead process' confirmation is removed.
   */
  redisSilenceMs: 5_000,
  redisGrantMs: 1_000,
  redisAskMs: 3_000,
  redisForgetMs: 60_000,
  /** Tenants that a process checks each second for one with the current epoch, and the timeout of a server. */
  redisHeldTenants: 100,
  redisLookMs: 1_000,
  /** How long a start waits for another Redis to fall silent, and how often it checks. */
  redisStartWaitMs: 8_000,
  redisStartLookMs: 250,
  /** Ledger entries that a restore saves in one statement. */
  restoreSaveEntries: 500,
  /** Lifetime of a restore's lease, which every step renews. */
  restoreLeaseMs: 30_000,
  /** Tenants that a worker restores concurrently, and how often it logs progress. */
  reconcileTenants: 2,
  reconcileLogMs: 5_000,
  /** `laurel status`: connections to Postgres, the backlog that counts as a problem, and the age of a running process' confirmation. */
  statusConnections: 2,
  statusLagS: 60,
  statusConfirmedS: 10,
  /**
   * The problems of the status (docs/operations/status.md): for how long a queue of deliveries has had no success, for how long a delivery to an
   * endpoint and a message have been due, of how many hours failed deliveries are counted, and how many of them at most.
   */
  statusFailingMs: 5 * 60_000,
  statusWebhookLateMs: 5 * 60_000,
  statusMessageLateMs: 15 * 60_000,
  statusFailedHours: 24,
  statusFailedDeliveries: 10_000,
  /** The newest deliveries of a channel that its failures are compared with, and the share of those that is no problem yet: a tenth. */
  statusMessagesSample: 100,
  statusMessagesShare: 10,
  /** Queues with problems whose names one read of the status looks up; of these, it has a sentence for each of the first maxComplaints. */
  statusQueues: 100,
  /** The delay of a replica, the share of a disk in percent that is free, and the distance of a test clock that are a problem. */
  statusReplicaLagS: 10,
  statusFreeDiskPercent: 10,
  statusTestClockMs: 86_400_000,
  /** How often restore and verify print progress without a terminal. */
  progressLineMs: 5_000,
  /** Delay after a failed restore, and between checks of another worker's. */
  reconcileRetryMs: 500,
  /** `Retry-After` during a restore. */
  restoreRetryAfterS: 2,
  /** Timeout of a scrape's queries, and idle tenants that one scrape checks. */
  metricsWaitMs: 1_000,
  metricsTenants: 250,
  /** Busy tenants that one scrape checks, and tenants whose lag has its own sample. */
  metricsBusyTenants: 1_000,
  metricsWorstTenants: 5,
  /** Largest count of dead letters, in metrics and in the status. */
  countedDeadLetters: 1_000,
  /** Tenants with refused requests whose readiness one scrape checks. */
  metricsUnreadyTenants: 100,
  /** How often responses with 503 are summarised in the log. */
  refusalsLogMs: 10_000,
  /** The demo: users of one that is not given their number, which takes less than a minute on two cores; and the most. */
  demoUsers: 300,
  maxDemoUsers: 10_000,
  /** Timeout of sending traces, also at shutdown. */
  tracesSendMs: 5_000,
  /** Characters of an accepted X-Request-Id header. */
  maxRequestIdChars: 128,
  /** Hours of a user's time that one call settles; fewer with many time triggers. */
  maxSettleHours: 240,
  /** Users that one call of the sweep settles, which delays events by about 2 ms. */
  sweepUsers: 25,
  /** Expired idempotency keys that one step deletes, and steps in a run. */
  retentionPageKeys: 1_000,
  retentionPagesPerRun: 20,
  /** Tenants that the sweep starts each second, and sweeps concurrently: 1,000 idle tenants are swept every 10 s. */
  sweepTenants: 100,
  sweepTenantsAtOnce: 8,
  /** How long one request moves the test clock before it responds with the time that is reached. */
  clockRequestMs: 30_000,
  /** How many users, the first by id, a search looks at before it lists all that an index has. */
  searchedUsersNear: 5_000,
  /** Where the test clock ends, in milliseconds since 1970. */
  testClockEndMs: Date.UTC(2200, 0, 1),
  /** How long the test clock waits for an attempt at a message before it moves on, and how often it looks. */
  clockAttemptMs: 2_000,
  clockAttemptPollMs: 25,
  /** Users that one step of a leaderboard's activation adds. */
  activationUsers: 200,
  /** Users that an activation reads at once; each read sorts all users of the tenant. */
  activationReadUsers: 50_000,
  /** Users that one step of a recount of levels updates, and reads. */
  relevelUsers: 200,
  relevelLook: 5_000,
  /** When a run is final after its end in UTC: it has then ended in every time zone (docs/rules/leaderboards.md). */
  finalisationDelayMs: 12 * 3_600_000,
  /** Shortest interval of the webhooks about a user's points, a leaderboard, and a user's rank on it (docs/webhooks.md). */
  publishIntervalMs: 15 * 60_000,
  /** Shortest interval at which the ranks of a changing leaderboard are compared with the published ones. */
  ranksComparedEveryMs: 60_000,
  /** Users' points, and leaderboards or groups of a final run, that one transaction publishes, and transactions in a run. */
  publishPointsUsers: 200,
  publishLeaderboards: 5,
  publishTransactionsPerRun: 20,
  /** Runs of a leaderboard, begun while no worker was running, that are published one by one; the newest, if there were more. */
  publishRuns: 100,
  /** Plans, call contexts (one for each tenant and configuration version of a process), and time zones that the function library caches. */
  maxCachedPlans: 256,
  maxCachedContexts: 4_096,
  maxCachedZones: 2_048,
  /** Offsets of one time zone that a process caches, three days apart: more than eight years (shared/zones.ts). */
  maxCachedZoneOffsets: 1_024,
  /** Texts of one kind that a process keeps prepared for responses of a configuration (responses/prepared.ts): triggers, runs of leaderboards. */
  maxPreparedParts: 4_096,
  // Analytics.
  /** Days of one read of analytics, and those that it has unless the caller asks for others (docs/rules/analytics.md). */
  maxAnalyticsDays: 400,
  analyticsDays: 30,
  /** How long a superseded plan stays in Redis, for processes that have not switched yet. */
  supersededPlanTtlS: 3_600,
  // Timelines of users, and leaderboards in the Admin API
  /** Entries of a page of a user's timeline. */
  maxTimelinePage: 100,
  /** Ranges of the values of a leaderboard. */
  maxDistributionBuckets: 20,
  /** Groups of a leaderboard that one command reads, and whose participants one round trip counts. */
  leaderboardGroupsRead: 1_000,
  /** Restores in the status of the Admin API. */
  statusRestores: 10,
  // Exports (postgres/long-reads.ts).
  /** Exports that one process sends at a time, each with a connection to Postgres; and the `Retry-After` of a further one. */
  exportsAtOnce: 2,
  exportRetryAfterS: 10,
  /** Rows that an export has in memory: at most 100 MB, of users with 100 device tokens of 4 kB each. */
  exportPageRows: 250,
  /** Timeout of a statement of an export: the first one may sort a leaderboard. */
  exportStatementMs: 50_000,
  /**
   * How long the transaction of an export may wait for a client that takes one part slowly. One that takes nothing is disconnected after
   * connectionIdleMs: this ends the transaction of a frozen process.
   */
  exportIdleMs: 600_000,
  /** How long an export may take: until then, vacuum keeps the rows that have been replaced since. */
  exportMs: 3_600_000,
  ...messageLimits,
} as const;
