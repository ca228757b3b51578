/** How many users a backfill (jobs/activations.ts) would complete achievements for, without doing it. */
import { numberArray } from '../postgres/arrays.js';
import { userRecords } from '../redis/contract.js';
import { placeOf } from '../redis/layout.js';
import type { Frequency } from '../shared/calendar.js';
import type { Count } from './counts.js';

/** What decides whether a user qualifies. */
export type Condition =
  /** `isSummed`: by the sum of the matching events instead of the total. */
  | { readonly metric: number; readonly value: number; readonly isSummed: boolean }
  | { readonly streak: Frequency; readonly length: number }
  /** `isFresh`: the achievement itself is backfilled. Otherwise it only follows when a backfill completes one that it needs. */
  | { readonly needs: readonly number[]; readonly isFresh: boolean };

/** An achievement that a backfill can complete: its no, and the values that the user's attributes must have, by their no. */
export interface Entering {
  readonly no: number;
  readonly condition: Condition;
  readonly attributes: Readonly<Record<string, string>>;
}

const streakTexts: Readonly<Record<Frequency, string>> = {
  daily: 'select user_id from user_streaks where tenant = $1 and daily >=',
  weekly: 'select user_id from user_streaks where tenant = $1 and weekly >=',
  monthly: 'select user_id from user_streaks where tenant = $1 and monthly >=',
};

/** One statement in the making: a common table expression of users for each achievement. */
class Statement {
  /** From `$2` on. */
  readonly values: unknown[] = [];
  readonly expressions: string[] = [];
  private readonly names = new Map<number, string>();

  /** The placeholder of a value. */
  private value(value: unknown): string {
    return `$${this.values.push(value) + 1}`;
  }

  /** Users who qualify, whether or not they have completed it. */
  private qualifying(no: number, condition: Condition): string {
    if ('streak' in condition) return `${streakTexts[condition.streak]} ${this.value(condition.length)}`;
    if ('needs' in condition) return this.havingAll(condition.needs, condition.isFresh);
    const { metric, value, isSummed } = condition;
    if (!isSummed) {
      return `select user_id from user_metrics where tenant = $1 and metric = ${this.value(metric)} and total >= ${this.value(value)}`;
    }
    const record = `unpack_message(field_value(fields ->> ${this.value(`${userRecords.metric}${metric}`)}))`;
    const sum = `(${record} -> ${placeOf('metric', 'sums')} ->> ${this.value(String(no))})::double precision`;
    return `select user_id from user_hashes where tenant = $1 and ${sum} >= ${this.value(value)}`;
  }

  /** Users who have all of these, completed or about to be; unless the achievement is fresh, at least one of them is about to be. */
  private havingAll(needs: readonly number[], isFresh: boolean): string {
    const about = needs.flatMap((need) => {
      const name = this.names.get(need);
      return name === undefined ? [] : [`select user_id, ${this.value(need)}::integer, true from ${name}`];
    });
    const completed = `select user_id, achievement, false as is_new from user_achievements
                        where tenant = $1 and achievement = any(${this.value(numberArray(needs))}::integer[])`;
    return `select user_id from (${[completed, ...about].join(' union all ')}) as has group by user_id
            having count(distinct achievement) = ${this.value(needs.length)}${isFresh ? '' : ' and bool_or(is_new)'}`;
  }

  /** Whether a qualifying user has these attributes. */
  private matching(attributes: Entering['attributes']): string {
    if (Object.keys(attributes).length === 0) return 'true';
    return `exists (select from users
                     where tenant = $1 and id = qualifying.user_id and attributes @> ${this.value(JSON.stringify(attributes))}::jsonb)`;
  }

  /** Adds the users for whom an achievement would be completed, and returns the name of the expression. */
  add({ no, condition, attributes }: Entering): string {
    const name = `entering_${this.expressions.length}`;
    this.expressions.push(`${name} as (
      select user_id from (${this.qualifying(no, condition)}) as qualifying
       where not exists (
               select from user_achievements as done
                where done.tenant = $1 and done.user_id = qualifying.user_id and done.achievement = ${this.value(no)}::integer)
         and ${this.matching(attributes)})`);
    this.names.set(no, name);
    return name;
  }
}

/**
 * Counts the users for whom the last of these achievements would be completed. The others are what it needs, and what these need, each before
 * the achievements that need it.
 */
export function entering(achievements: readonly Entering[]): Count {
  const statement = new Statement();
  const names = achievements.map((achievement) => statement.add(achievement));
  return { text: `with ${statement.expressions.join(', ')} select count(*) from ${names.at(-1) ?? ''}`, values: statement.values };
}
