/** What responses about the whole configuration have in common. */
import { z } from 'zod';
import type { StoredVersion } from '../../config/store/versions.js';
import { instantShape } from '../../shared/shapes.js';

const authorSchema = z
  .object({
    kind: z.enum(['key', 'command', 'start']).meta({
      description: 'A request with an admin key, a command such as `laurel apply`, or a start of the service with `CONFIG` or the sample.',
    }),
    name: z.string().meta({ description: 'Of the key when it saved the version, or of the command.' }),
    keyId: z.uuid().nullable().meta({ description: 'The key may have been deleted since.' }),
    prefix: z.string().nullable(),
  })
  .meta({ id: 'ConfigurationAuthor' });

const versionNo = z.number().int().meta({ description: 'Counts up from 1; 0 is the empty configuration before the first version.' });

export const versionFields = {
  version: versionNo,
  created: instantShape.nullable().meta({ description: 'Null for version 0.' }),
  author: authorSchema.nullable().meta({ description: 'Null for version 0.' }),
};

const changeSchema = z
  .object({
    action: z.enum(['add', 'revive', 'change', 'archive']).meta({
      description: '`revive`: an archived object is used again, with its id and its data.',
    }),
    kind: z.string().meta({ description: '`metric`, `level`, `user attribute`, `settings`, `streaks` …' }),
    key: z.string().optional().meta({ description: 'Absent for `settings`, `streaks` and `messages`.' }),
    within: z.string().nullable().optional().meta({ description: 'The key of the points system that a level, trigger or boost is of.' }),
    fields: z.array(z.object({ field: z.string(), from: z.unknown().optional(), to: z.unknown().optional() })).meta({
      description: 'What differs, with the names and the keys of a file. A value that is absent is one that the object did not have.',
    }),
  })
  .meta({ id: 'ConfigurationChange' });

export const changesFields = {
  changes: z.array(changeSchema),
  lines: z.array(z.string()).meta({ description: 'A line for each change: `~ points system points: maxPoints 100 -> 200`.' }),
};

export const fileShape = z
  .record(z.string(), z.unknown())
  .meta({ description: 'The contents of the configuration file, without archived objects.' });

export const shownVersion = ({ version, created, author }: Pick<StoredVersion, 'version' | 'created' | 'author'>) => ({
  version,
  created: created?.toISOString() ?? null,
  author,
});
