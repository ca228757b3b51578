import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { type OpenApi, operationsOf, resolve } from './openapi.js';

/** The documents of the contract, and the bases of their operations. */
export const contractApis = { application: '/v1', admin: '/admin/v1' } as const;
export type ContractName = keyof typeof contractApis;

/** The shapes of a document of the hosted service's contract; `npm run contract` writes them (test/support/fixtures/contract). */
export const fixtureOf = (name: ContractName): string => fileURLToPath(new URL(`./fixtures/contract/${name}.json`, import.meta.url));

const read = (name: ContractName): OpenApi => JSON.parse(readFileSync(fixtureOf(name), 'utf8')) as OpenApi;

/** The kinds of webhooks of the contract. */
export const contractWebhooks = (): string[] => Object.keys(read('application').webhooks ?? {});

/**
 * Where docs/rules/limits-and-errors.md differs from the contract: values of metrics, and of the leaderboards that rank by them, are numbers, decimals included.
 * Callers may send null for a user's name and email address, and for what a change of an achievement clears when they create one, which responses have. What a leaderboard does not rank by is null in the rankings call. (The contract allows by itself what else the rules require: a description that is null, and 0 for a run interval.)
 */
const relaxed: Readonly<Record<ContractName, readonly (readonly [pointer: string, type: string | readonly string[]])[]>> = {
  application: [
    ['MetricEventLeaderboardResponse/allOf/1/properties/threshold', 'number'],
    ['LeaderboardRanking/properties/value', 'number'],
    ['UserLeaderboardResponse/allOf/1/properties/value', ['number', 'null']],
    ['WebhookUserLeaderboardResponse/allOf/1/properties/previousValue', ['number', 'null']],
    ['LeaderboardEvent/properties/previousValue', ['number', 'null']],
    ['LeaderboardEvent/properties/value', ['number', 'null']],
    ['PointsTrigger/properties/metricThreshold', 'number'],
    ...['name', 'email'].map((field) => [`UpdatedUser/properties/${field}`, ['string', 'null']] as const),
    ...['metricKey', 'metricName', 'pointsSystemKey', 'pointsSystemName'].map(
      (field) => [`LeaderboardResponse/properties/${field}`, ['string', 'null']] as const,
    ),
  ],
  admin: [
    ...['name', 'email'].map((field) => [`BatchMetricEventUser/properties/${field}`, ['string', 'null']] as const),
    ['CreateAchievementRequestItem/properties/description', ['string', 'null']],
    ['CreateAchievementRequestItem/properties/badge', ['object', 'null']],
    ...['userAttributes', 'eventAttributes'].map(
      (field) => [`CreateAchievementRequestItem/properties/${field}`, ['array', 'null']] as const,
    ),
    ['CreatePointsTriggerRequestItem/properties/metricThreshold', 'number'],
    ['PatchPointsTriggersRequest/items/properties/metricThreshold', 'number'],
    ['AdminPointsTrigger/properties/metricThreshold', 'number'],
  ],
};

/**
 * What the contract has and Laurel lacks: operations, which answer 404, and fields, which no operation of Laurel takes or shows. The contract is read
 * without them. test/api/contract-walk.test.ts holds the list to be exact.
 */
export const notBuilt = {
  operations: [] as string[],
  fields: ['boostId'],
};

/** Removes fields from every shape in a document. */
function removeFields(value: unknown, fields: readonly string[]): void {
  if (typeof value !== 'object' || value === null) return;
  const { properties, required } = value as { properties?: Record<string, unknown>; required?: unknown };
  for (const field of fields) delete properties?.[field];
  if (Array.isArray(required)) Object.assign(value, { required: required.filter((field: string) => !fields.includes(field)) });
  for (const inner of Object.values(value)) removeFields(inner, fields);
}

/** Laurel's own settings, which the contract's object does not have. */
const settings = [
  ...[
    'controlRatio',
    'weekStart',
    'defaultTimeZone',
    'idempotencyRetentionDays',
    'recapFrequency',
    'emailHour',
    'reactivationDays',
    'activationWindowDays',
  ],
  ...['streakReminderHour', 'streakReminderWeekday', 'streakReminderDay', 'achievementFromHour', 'achievementToHour'],
];

/**
 * What Laurel sends beyond the contract: what the official client library (1.0.42) asks for, the issues of a batch of events, which the contract only
 * counts, settings of its own, the run that rankings and a user's rank on a leaderboard are of, and the rank among `userIds`.
 */
const added: Readonly<Record<ContractName, readonly (readonly [schema: string, field: string, is: Schema])[]>> = {
  application: [
    ['MetricResponse', 'status', { type: 'string' }],
    ['LeaderboardResponse', 'runStart', { type: 'string', format: 'date' }],
    ['LeaderboardResponse', 'runEnd', { type: ['string', 'null'], format: 'date' }],
    ['LeaderboardRanking', 'rankInList', { type: 'integer' }],
  ],
  admin: [
    ['AdminIssue', 'level', { type: 'string' }],
    ['AdminIssue', 'reason', { type: 'string' }],
    ...settings.map((field) => ['AdminSettings', field, {}] as const),
    ['BatchEventsResponse', 'issues', { type: 'array', items: { $ref: '#/components/schemas/AdminIssue' } }],
  ],
};

interface Schema {
  type?: string | readonly string[];
  readonly format?: string;
  readonly $ref?: string;
  properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly required?: readonly string[];
}

const escaped = (segment: string): string => segment.replaceAll('~', '~0').replaceAll('/', '~1');

/** The operations of a document of the contract, and the responses that it asks for. */
export class Contract {
  readonly document: OpenApi;
  private readonly ajv: Ajv2020;
  private readonly validators = new Map<string, ValidateFunction>();

  constructor(name: ContractName = 'application') {
    this.document = read(name);
    removeFields(this.document, notBuilt.fields);
    for (const [pointer, type] of relaxed[name]) this.at(`#/components/schemas/${pointer}`).type = type;
    for (const [schemaName, field, is] of added[name]) {
      const schema = this.at(`#/components/schemas/${schemaName}`);
      schema.properties = { ...schema.properties, [field]: is };
    }
    this.ajv = new Ajv2020({ strict: false, allErrors: true });
    formats.default(this.ajv);
    this.ajv.addSchema(this.document, 'contract');
  }

  /**
   * What is wrong with the body of a response, a line for each problem: what breaks the schema, and fields that it does not name. `path`
   * is one of the contract's, such as `/users/{id}`.
   */
  problems(method: string, path: string, status: number, body: unknown): string[] {
    const operation = `#/paths/${escaped(path)}/${method.toLowerCase()}/responses/${status}`;
    return this.check(`${operation}/content/application~1json/schema`, body);
  }

  /** The same for the body of a webhook of a kind. */
  webhookProblems(kind: string, body: unknown): string[] {
    return this.check(`#/webhooks/${escaped(kind)}/post/requestBody/content/application~1json/schema`, body);
  }

  private check(pointer: string, body: unknown): string[] {
    const validate = this.validators.get(pointer) ?? this.ajv.compile({ $ref: `contract${pointer}` });
    this.validators.set(pointer, validate);
    validate(body);
    const broken = (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? ''}`);
    return [...broken, ...this.unknownFields(this.at(pointer), body, '')];
  }

  private at(pointer: string): Schema {
    return resolve(this.document, pointer) as Schema;
  }

  /** A schema with what it refers to and what it is made of, one after the other. */
  private parts(schema: Schema): Schema[] {
    const referred = schema.$ref === undefined ? [] : [this.at(schema.$ref)];
    return [schema, ...[...referred, ...(schema.allOf ?? []), ...(schema.oneOf ?? [])].flatMap((part) => this.parts(part))];
  }

  private unknownFields(schema: Schema, value: unknown, path: string): string[] {
    const parts = this.parts(schema);
    if (Array.isArray(value)) {
      const items = parts.find((part) => part.items)?.items ?? {};
      return value.flatMap((item: unknown, i) => this.unknownFields(items, item, `${path}/${i}`));
    }
    if (typeof value !== 'object' || value === null) return [];
    const properties = new Map(parts.flatMap((part) => Object.entries(part.properties ?? {})));
    // The contract requires the status of a leaderboard where it does not describe it.
    const named = new Set([...properties.keys(), ...parts.flatMap(({ required = [] }) => required)]);
    const others = parts.find((part) => part.additionalProperties)?.additionalProperties;
    return Object.entries(value).flatMap(([key, field]: [string, unknown]) => {
      const own = properties.get(key) ?? others;
      if (own) return this.unknownFields(own, field, `${path}/${key}`);
      return named.has(key) ? [] : [`${path}/${key} is not in the contract`];
    });
  }
}

/** The operations of both documents by their ids; made at first use. */
let byId: ReadonlyMap<string, (status: number, body: unknown) => string[]> | undefined;

function checksById(): NonNullable<typeof byId> {
  const checks = (Object.keys(contractApis) as ContractName[]).flatMap((name) => {
    const contract = new Contract(name);
    return operationsOf(contract.document).map(({ id, method, path }): [string, (status: number, body: unknown) => string[]] => {
      const { responses } = contract.document.paths[path]?.[method.toLowerCase()] ?? { responses: {} };
      const statuses = Object.keys(responses).map(Number);
      return [
        id,
        (status, body) => {
          // The contract has one success for an event that was counted and its replay.
          const as = statuses.find((one) => one === status) ?? (status < 300 ? statuses.find((one) => one < 300) : undefined);
          return as === undefined ? [] : contract.problems(method, path, as, body).map((problem) => `${id} ${status}: ${problem}`);
        },
      ];
    });
  });
  return new Map(checks);
}

/** A line for each way in which an answer to an operation, by its id, breaks the contract; none for what the contract does not have. */
export function contractProblems(operation: string, status: number, body: unknown): string[] {
  byId ??= checksById();
  return byId.get(operation)?.(status, body) ?? [];
}
