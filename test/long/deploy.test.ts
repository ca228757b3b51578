import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { containerOf, manifestFolder, manifests } from '../support/manifests.js';
import { runLaurel } from '../support/process.js';
import { setStage } from '../support/stage.js';
import { administer, stores, withDatabase } from '../support/stores.js';

const migrations = readdirSync(fileURLToPath(new URL('../../migrations', import.meta.url)));
const mounted = '/etc/laurel/configuration/laurel.yaml';
const example = join(manifestFolder, 'example', 'laurel.yaml');

/** The arguments that a Job of deploy/kubernetes gives to `laurel`, with the configuration of the example. */
function argumentsOf(name: string): string[] {
  const job = manifests().find(({ kind, metadata }) => kind === 'Job' && metadata.name === name)!;
  const [node, program, ...rest] = containerOf(job).command;
  expect([node, program]).to.deep.equal(['node', 'bin/laurel.mjs']);
  return rest.map((argument) => (argument === mounted ? example : argument));
}

describe('The Jobs for Kubernetes', () => {
  it('migrate and configure an empty Postgres, and change nothing when they run again', async () => {
    const { postgresUrl } = await stores();
    const database = `jobs_${process.pid}`;
    await administer(postgresUrl, `create database ${database}`);
    const stage = await setStage({ databaseUrl: withDatabase(postgresUrl, database) });
    const run = async (name: string): Promise<string> => {
      const { code, output, log } = await runLaurel(argumentsOf(name), stage.env);
      expect([code, log], name).to.deep.equal([0, '']);
      return output;
    };
    const migrated = async (): Promise<number> => (await stage.pool.query('select from migrations')).rowCount ?? 0;
    try {
      expect(await run('laurel-migrate')).to.equal('');
      expect(await migrated()).to.equal(migrations.length);
      expect(await run('laurel-configure')).to.match(/\n {2}Configuration version 1 is active\.\n$/);
      expect(await run('laurel-configure')).to.equal(`${example} changes nothing.\n`);
      expect(await run('laurel-migrate')).to.equal('');
      expect(await migrated()).to.equal(migrations.length);
    } finally {
      await stage.stop();
      await administer(postgresUrl, `drop database ${database} with (force)`);
    }
  });
});
