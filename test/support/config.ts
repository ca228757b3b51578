/** Applying configuration files to documents. */
import { type ApplyPlan, planApply } from '../../src/config/change/apply.js';
import { describeChanges } from '../../src/config/change/changes.js';
import { parseConfigFile, readConfigFile } from '../../src/config/file/file.js';
import { type ConfigDocument, emptyConfig } from '../../src/config/schema/model.js';
import type { WebhookReceivers } from '../../src/config/schema/webhook-url.js';
import { OperatorError } from '../../src/shared/errors.js';

export const monday = '2026-11-23T23:59:00.000Z';
export const friday = '2026-11-27T08:00:00.000Z';

/** Ids that are counted: `id-1`, `id-2`. */
export function idsFrom1(): () => string {
  let ids = 0;
  return () => {
    ids += 1;
    return `id-${ids}`;
  };
}
const newIds = idsFrom1();

export interface Options {
  readonly now?: string;
  readonly prune?: boolean;
  readonly newId?: () => string;
  readonly webhookReceivers?: WebhookReceivers;
}

export function apply(current: ConfigDocument, text: string, { now = monday, prune = false, newId = newIds }: Options = {}): ApplyPlan {
  return planApply(current, readConfigFile(text, 'f.yaml'), { now, prune, newId });
}

/** The document after several files, one after the other. */
export const after = (...texts: readonly string[]): ConfigDocument =>
  texts.reduce((document, text) => apply(document, text).document, emptyConfig);

/** The lines for an operator. */
export const lines = (current: ConfigDocument, text: string, options: Options = {}): string[] =>
  describeChanges(apply(current, text, options).changes);

/** The message of the OperatorError of applying a text; empty if it is valid. */
export function messageOf(current: ConfigDocument, text: string, options: Options = {}): string {
  try {
    planApply(current, parseConfigFile(text, 'f.yaml'), { now: friday, prune: false, newId: newIds, ...options });
    return '';
  } catch (error) {
    if (error instanceof OperatorError) return error.message;
    throw error;
  }
}

/** The one object of a list. */
export function only<T>(list: readonly T[]): T {
  const [object, ...more] = list;
  if (object === undefined || more.length > 0) throw new Error(`${list.length} objects`);
  return object;
}

// Parts of files, each a list.
export const metric = (key: string): string => `metrics: [{key: ${key}, name: ${key}}]\n`;
export const both = 'metrics: [{key: m, name: M}, {key: n, name: N}]\n';
export const points = (fields = ''): string => `points: [{key: p, name: P${fields === '' ? '' : `, ${fields}`}}]\n`;
export const board = (fields: string): string => `leaderboards: [{key: l, name: L, ${fields}}]\n`;
export const calls = 'achievements: [{key: c, name: C, trigger: api, status: active}]\n';
export const byMetric = board('rankBy: metric, metricKey: m');
