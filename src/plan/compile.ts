import { createHash } from 'node:crypto';
import { Packr } from 'msgpackr';
import { dateToDay } from '../calendar.js';
import type {
  AttributeFilter,
  ConfigDocument,
  ConfigVersion,
  Leaderboard,
  PointsBoost,
  PointsSystem,
  PointsTrigger,
} from '../config/model.js';
import { limits } from '../limits.js';
import { userFields } from '../redis/contract.js';
import { scaleMultiplier } from './decimal.js';

/**
 * What the function library runs: a configuration with every name resolved, so that an event needs one HMGET of a list that is ready.
 * Positions (`at`) count from 1 in that list, as Lua does.
 */
interface FilterAt {
  readonly at: number;
  readonly value: string;
}

interface PlanTrigger {
  readonly no: number;
  readonly points: number;
  readonly threshold: number;
  readonly field: string;
  readonly highField: string;
  readonly at: number;
  readonly highAt: number;
  readonly user: readonly FilterAt[];
  readonly event: readonly { readonly no: string; readonly value: string }[];
}

interface PlanBoost {
  readonly no: number;
  /** By falling multiplier, the newest first among equals: the first active one decides how to round. */
  readonly order: number;
  readonly mantissa: number;
  readonly scale: number;
  readonly rounding: string;
  /** Local days since 1970-01-01, both inclusive. */
  readonly first: number;
  readonly last?: number;
  readonly user: readonly FilterAt[];
}

interface PlanBoard {
  readonly no: number;
  readonly run: number;
  readonly key: string;
  readonly max: number;
  readonly first: number;
  readonly last?: number;
  /** Where the user's place is noted, and where the value is found, in the user's hash. */
  readonly field: string;
  readonly valueField: string;
}

type PlanBoardAt = PlanBoard & { readonly at: number };

interface PlanSystem {
  readonly no: number;
  readonly field: string;
  readonly at: number;
  readonly cap: number;
  readonly levels: readonly { readonly no: number; readonly points: number }[];
  readonly triggers: readonly PlanTrigger[];
  readonly boosts: readonly PlanBoost[];
  readonly ownBoosts: ReadonlyMap<string, readonly PlanBoost[]>;
  readonly boards: readonly PlanBoardAt[];
}

interface PlanMetric {
  readonly no: number;
  readonly field: string;
  readonly fields: readonly string[];
  readonly systems: readonly PlanSystem[];
  readonly boards: readonly PlanBoardAt[];
}

export interface Plan {
  readonly controlRatio: number;
  readonly metrics: Readonly<Record<string, PlanMetric>>;
  readonly boards: Readonly<Record<string, PlanBoard>>;
}

/** The run number of a perpetual leaderboard. */
export const perpetualRun = 0;

/** What every metric's list of fields starts with; lua/event.lua knows the order. */
const leadingFields = (metricNo: number): string[] => [
  userFields.created,
  userFields.rev,
  userFields.tz,
  `${userFields.metricTotal}${metricNo}`,
];

const live = <T extends { readonly archived: boolean }>(objects: readonly T[]): T[] => objects.filter((object) => !object.archived);

/** A list of fields in which every field stands once. */
class FieldList {
  readonly fields: string[];
  constructor(leading: string[]) {
    this.fields = leading;
  }
  /** The position of a field, counted from 1. */
  at(field: string): number {
    const found = this.fields.indexOf(field);
    return found >= 0 ? found + 1 : this.fields.push(field);
  }
}

/** Compiles one tenant's configuration. The document has passed config/validate.ts: a reference that leads nowhere is a fault of ours. */
class Compiler {
  private readonly document: ConfigDocument;
  private readonly attributeNo: ReadonlyMap<string, number>;
  private readonly metricNo: ReadonlyMap<string, number>;
  private readonly systemNo: ReadonlyMap<string, number>;

  constructor(document: ConfigDocument) {
    this.document = document;
    this.attributeNo = new Map(document.attributes.map(({ id, no }) => [id, no]));
    this.metricNo = new Map(document.metrics.map(({ id, no }) => [id, no]));
    this.systemNo = new Map(document.pointsSystems.map(({ id, no }) => [id, no]));
  }

  compile(): Plan {
    const boards = live(this.document.leaderboards).filter(({ status }) => status === 'active');
    return {
      controlRatio: this.document.settings.controlRatio,
      metrics: Object.fromEntries(
        live(this.document.metrics).map((metric) => [String(metric.no), this.metric(metric.no, metric.id, boards)]),
      ),
      boards: Object.fromEntries(boards.map((board) => [String(board.no), this.board(board)])),
    };
  }

  private metric(no: number, id: string, boards: readonly Leaderboard[]): PlanMetric {
    const list = new FieldList(leadingFields(no));
    const systems = live(this.document.pointsSystems).flatMap((system) => {
      const triggers = live(system.triggers).filter(({ metricId, status }) => metricId === id && status === 'active');
      return triggers.length > 0 ? [this.system(system, triggers, boards, list)] : [];
    });
    const own = boards.filter((board) => board.rankBy === 'metric' && board.metricId === id);
    return { no, field: `${userFields.metricTotal}${no}`, systems, boards: this.boardsAt(own, list), fields: list.fields };
  }

  private system(system: PointsSystem, triggers: readonly PointsTrigger[], boards: readonly Leaderboard[], list: FieldList): PlanSystem {
    const field = `${userFields.pointsTotal}${system.no}`;
    const boosts = live(system.boosts).sort((a, b) => b.multiplier - a.multiplier || b.no - a.no);
    const ownBoosts = new Map<string, PlanBoost[]>();
    const shared: PlanBoost[] = [];
    boosts.forEach((boost, order) => {
      const compiled = this.boost(boost, order, list);
      if (boost.userId === null) shared.push(compiled);
      else ownBoosts.set(boost.userId, [...(ownBoosts.get(boost.userId) ?? []), compiled]);
    });
    return {
      no: system.no,
      field,
      at: list.at(field),
      cap: system.maxPoints ?? limits.maxAbsoluteTotal,
      levels: live(system.levels)
        .map(({ no, points }) => ({ no, points }))
        .sort((a, b) => a.points - b.points),
      triggers: triggers.map((trigger) => this.trigger(trigger, list)),
      boosts: shared,
      ownBoosts,
      boards: this.boardsAt(
        boards.filter((board) => board.rankBy === 'points' && board.pointsSystemId === system.id),
        list,
      ),
    };
  }

  private trigger(trigger: PointsTrigger, list: FieldList): PlanTrigger {
    const field = `${userFields.triggerProgress}${trigger.no}`;
    const highField = `${userFields.triggerHighWater}${trigger.no}`;
    return {
      no: trigger.no,
      points: trigger.points,
      threshold: trigger.metricThreshold,
      field,
      highField,
      at: list.at(field),
      highAt: list.at(highField),
      user: this.userFilters(trigger.userAttributes, list),
      event: trigger.eventAttributes.map(({ attributeId, attributeValue }) => ({
        no: String(this.resolve(this.attributeNo, attributeId)),
        value: attributeValue,
      })),
    };
  }

  private boost(boost: PointsBoost, order: number, list: FieldList): PlanBoost {
    const scaled = scaleMultiplier(boost.multiplier);
    if (!scaled) throw new Error(`boost ${boost.id} has a multiplier that validation should have refused`);
    return {
      no: boost.no,
      order,
      ...scaled,
      rounding: boost.rounding,
      first: dateToDay(boost.start),
      ...(boost.end === null ? {} : { last: dateToDay(boost.end) }),
      user: this.userFilters(boost.userAttributes, list),
    };
  }

  private board(board: Leaderboard): PlanBoard {
    return {
      no: board.no,
      run: perpetualRun,
      key: `${board.no}:${perpetualRun}`,
      max: board.maxParticipants,
      first: dateToDay(board.start),
      ...(board.end === null ? {} : { last: dateToDay(board.end) }),
      field: `${userFields.boardSeq}${board.no}`,
      valueField: this.valueField(board),
    };
  }

  private valueField(board: Leaderboard): string {
    switch (board.rankBy) {
      case 'metric':
        return `${userFields.metricTotal}${this.resolve(this.metricNo, board.metricId)}`;
      case 'points':
        return `${userFields.pointsTotal}${this.resolve(this.systemNo, board.pointsSystemId)}`;
    }
  }

  private boardsAt(boards: readonly Leaderboard[], list: FieldList): PlanBoardAt[] {
    return boards.map((board) => {
      const compiled = this.board(board);
      return { ...compiled, at: list.at(compiled.field) };
    });
  }

  private userFilters(filters: readonly AttributeFilter[], list: FieldList): FilterAt[] {
    return filters.map(({ attributeId, attributeValue }) => ({
      at: list.at(`${userFields.attribute}${this.resolve(this.attributeNo, attributeId)}`),
      value: attributeValue,
    }));
  }

  private resolve(numbers: ReadonlyMap<string, number>, id: string): number {
    const no = numbers.get(id);
    if (no === undefined) throw new Error(`the configuration refers to ${id}, which validation should have refused`);
    return no;
  }
}

/** A plan, packed for Redis, and the hash under which it is kept there. */
export interface CompiledPlan {
  readonly version: number;
  readonly hash: string;
  readonly blob: Buffer;
}

const packr = new Packr({ useRecords: false });

/** Compiles a configuration version into the plan that the function library runs. */
export function compilePlan({ document, version }: ConfigVersion): CompiledPlan {
  const blob = packr.pack(new Compiler(document).compile());
  return { version, hash: createHash('sha256').update(blob).digest('hex').slice(0, 24), blob };
}
