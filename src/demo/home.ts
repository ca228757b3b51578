import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { makeKey } from '../access/keys.js';
import { removeDataFolder } from '../local-stores/remove.js';
import { OperatorError } from '../shared/errors.js';
import type { StoryOptions } from './story.js';

/** What the folder of a demo says of it. */
const recordSchema = z.object({
  seed: z.number(),
  users: z.number(),
  until: z.string(),
  /** The admin key. The demo has no data of anybody, so that a key on the disk gives nothing away. */
  key: z.string(),
  webhookUrl: z.string().nullable(),
  /** Whether the whole month has been played. */
  isFilled: z.boolean(),
});
export type DemoRecord = z.infer<typeof recordSchema>;

const recordFile = (folder: string): string => join(folder, 'demo.json');

/** The folder of a demo, which has the stores of that demo and nothing else. */
export class DemoHome {
  readonly folder: string;
  record: DemoRecord;

  private constructor(folder: string, record: DemoRecord) {
    this.folder = folder;
    this.record = record;
  }

  /**
   * Finds the demo of a folder, or begins one: in an empty folder, in place of one that was not filled to its end, and in place of any with
   * `isFresh`. Throws an OperatorError for a folder that holds something else.
   */
  static async open(path: string, story: StoryOptions, isFresh: boolean): Promise<DemoHome> {
    const folder = resolve(path);
    const found = await readRecord(folder);
    if (found?.isFilled === true && !isFresh) return new DemoHome(folder, found);
    if (found) await removeDataFolder(folder);
    await mkdir(folder, { recursive: true });
    const home = new DemoHome(folder, { ...story, key: makeKey(), webhookUrl: null, isFilled: false });
    await home.save({});
    return home;
  }

  async save(changed: Partial<DemoRecord>): Promise<void> {
    this.record = { ...this.record, ...changed };
    const fresh = `${recordFile(this.folder)}.new`;
    await writeFile(fresh, `${JSON.stringify(this.record, null, 2)}\n`, { mode: 0o600 });
    await rename(fresh, recordFile(this.folder));
  }
}

/** The record of a folder; undefined when the folder is empty or missing. */
async function readRecord(folder: string): Promise<DemoRecord | undefined> {
  const names = await readdir(folder).catch((error: unknown): string[] => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  });
  if (names.length === 0) return undefined;
  const refused = new OperatorError(`The folder ${folder} is not empty and is not a demo: choose another one with --folder.`);
  if (!names.includes('demo.json')) throw refused;
  try {
    return recordSchema.parse(JSON.parse(await readFile(recordFile(folder), 'utf8')));
  } catch {
    throw refused;
  }
}
