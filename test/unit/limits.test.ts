import { expect } from 'chai';
import { notificationTypes } from '../../src/config/schema/message-types.js';
import { limits } from '../../src/shared/limits.js';

/** The longest orderly stops: of an API process that is the last one on its Redis, and of a worker. */
const apiStopMs = limits.stopRequestsMs + limits.stopDrainMs + limits.stopIdleMs + limits.tracesSendMs;
const workerStopMs = 2 * limits.stopDrainMs + Math.max(limits.emailStopMs, limits.pushStopMs) + limits.stopIdleMs + limits.tracesSendMs;

/** Each attempt at a delivery, whose outcome a claim waits for: until it is saved. */
const webhookMs = limits.webhookConnectMs + limits.webhookAnswerMs + limits.webhookAnswerBodyMs;
const messageMs = Math.max(limits.emailSendMs, limits.pushSendMs) + limits.messageCollectMs;

/** Relations that the comments of the limits state: the smaller value, and the larger one. */
const below: Readonly<Record<string, readonly [smaller: number, larger: number]>> = {
  'a file has fewer objects of a kind than its lists may have items': [limits.maxConfigObjects, limits.maxListItems],
  'a file that is a text in JSON fits into a request': [limits.maxConfigFileBytes, limits.maxConfigRequestBytes],
  'the lookup of a name ends before the connection': [limits.webhookLookupMs, limits.webhookConnectMs],
  'the lookup of a name ends before a test delivery': [limits.webhookLookupMs, limits.webhookTestMs],
  'a webhook is attempted for less time than it is claimed': [webhookMs, limits.deliveryClaimMs],
  'a message is attempted for less time than it is claimed': [messageMs, limits.deliveryClaimMs],
  'a read after a recovery succeeds: the write-behind retries earlier': [limits.writeBehindRetryMaxMs, limits.readYourWritesWaitMs],
  'a stopping API process is not killed': [apiStopMs, limits.processStopMs],
  'a stopping worker is not killed': [workerStopMs, limits.processStopMs],
  'the keep-alive of Node ends before a replaced process closes idle connections': [5_000, limits.retireIdleMs],
  'a process waits for the stores for less time than a scrape for the process': [limits.metricsWaitMs, limits.processMetricsMs],
  'a grant of the active Redis ends before another one may become active': [limits.redisGrantMs, limits.redisSilenceMs],
  'a start waits long enough for another Redis to be silent': [limits.redisSilenceMs, limits.redisStartWaitMs],
  'a confirmation is removed after it has counted': [limits.redisSilenceMs, limits.redisForgetMs],
  'a restore renews its lease in time': [limits.restoreRenewMs, limits.restoreLeaseMs],
  'a process renews what it watches in time': [limits.liveRenewMs, limits.liveWatchMs],
  'a client that reconnects finds its leaderboard': [limits.liveRetryMaxMs, limits.liveLingerMs],
  'a client that reconnects finds its user': [limits.liveRetryMaxMs, limits.liveUserLingerMs],
  'a proxy that closes a connection after a silent minute sees heartbeats': [limits.liveHeartbeatMs, 60_000],
  'an achievement can wait for the next day': [limits.messageMaxAgeMs, limits.achievementMaxAgeMs],
  'a receipt of a push is read before Expo deletes it': [limits.expoReceiptDelayMs, limits.expoReceiptLifetimeMs],
  'a token for APNs is not renewed too often': [20 * 60_000, limits.apnsTokenMs],
  'a token for APNs is renewed in time': [limits.apnsTokenMs, 60 * 60_000],
  'emails are sent more slowly than a new account of Amazon SES allows': [limits.emailsPerS, 14],
  'a link leaves room in a push of 4,096 bytes': [limits.maxPushLinkChars, 4_096],
  'a notification of SNS whose quotes are escaped fits': [2 * 256 * 1024, limits.maxBounceBytes],
  'a batch has 2 KiB for each event': [limits.maxBatchEvents * 2 * 1024, limits.maxBatchEventsBytes + 1],
};

/** Figures of the comments that follow from others. */
const equal: Readonly<Record<string, readonly [stated: number, computed: number]>> = {
  'an award list is trimmed once in 12 awards': [12, limits.maxAwardsKept - limits.maxAwardsRead],
  'a revoked key is refused within a second, one lost announcement included': [1_000, 2 * limits.accountPollMs],
  'a body can have 1,000 events of 100 fields, each of which counts as two values': [limits.maxBodyValues, limits.maxBatchEvents * 100 * 2],
  'a body can have any file': [limits.maxBodyValues, limits.maxYamlNodes],
  'each type of message has templates in 50 languages': [limits.maxTemplates, notificationTypes.length * 50],
  '1,000 tenants are scanned in 5 s': [5_000, (1_000 / limits.writeBehindScanTenants) * limits.writeBehindScanMs],
  '1,000 idle tenants are swept in 10 s': [10, 1_000 / limits.sweepTenants],
  'the offsets of a zone that are cached cover eight years': [8, Math.floor((limits.maxCachedZoneOffsets * 3) / 365.25)],
};

describe('The limits', () => {
  for (const [relation, [smaller, larger]] of Object.entries(below)) {
    it(`keep their relation: ${relation}`, () => {
      expect(smaller).to.be.below(larger);
    });
  }

  for (const [relation, [stated, computed]] of Object.entries(equal)) {
    it(`keep their relation: ${relation}`, () => {
      expect(computed).to.equal(stated);
    });
  }
});
