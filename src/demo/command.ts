import { type Command, InvalidArgumentError } from 'commander';
import { dayBefore, isDate, utcDate } from '../shared/calendar.js';
import { limits } from '../shared/limits.js';
import { demo } from './demo.js';

const wholeNumber =
  (max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < 1 || value > max)
      throw new InvalidArgumentError(`It must be a whole number from 1 to ${max.toLocaleString('en')}.`);
    return value;
  };

function calendarDate(text: string): string {
  if (!isDate(text)) throw new InvalidArgumentError('It must be a valid date in the form YYYY-MM-DD.');
  return text;
}

interface Given {
  readonly users: number;
  readonly seed: number;
  readonly until?: string;
  readonly folder: string;
  readonly fresh?: true;
}

/** Adds `laurel demo` to the commands. */
export function addDemo(laurel: Command): void {
  laurel
    .command('demo')
    .description("play a month of a study app's life into a data folder of its own, once, and serve it on the test clock")
    .option('--users <number>', 'users who begin in that month', wholeNumber(limits.maxDemoUsers), limits.demoUsers)
    .option('--seed <number>', 'decides who they are and what they do', wholeNumber(2 ** 31 - 1), 1)
    .option('--until <date>', 'the last day of the month, YYYY-MM-DD (default: yesterday)', calendarDate)
    .option('--folder <folder>', 'the data folder of the demo', '.laurel-demo')
    .option('--fresh', 'delete the demo of the folder first')
    .action(({ until, fresh, ...given }: Given) =>
      demo({ ...given, until: until ?? dayBefore(utcDate(Date.now())), fresh: fresh === true }),
    );
}
