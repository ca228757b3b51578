import type pg from 'pg';

/** Notes whether the services run on the test clock. Commands beside them go by this, whatever their own environment says. */
export async function noteTestClock(pool: pg.Pool, isOn: boolean): Promise<void> {
  await pool.query('update account set test_clock = $1 where test_clock is distinct from $1', [isOn]);
}

/** Whether the services run on the test clock; undefined when none has ever started. */
export async function notedTestClock(pool: pg.Pool): Promise<boolean | undefined> {
  const { rows } = await pool.query<{ testClock: boolean | null }>('select test_clock as "testClock" from account');
  return rows[0]?.testClock ?? undefined;
}
