import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { beginExport, insertUsers } from '../support/exports.js';
import { killChildren, serve, type LaurelProcess } from '../support/process.js';
import { setStage, type Stage } from '../support/stage.js';

const users = 1_000_000;
const nameChars = 100;
const mib = 1024 * 1024;
/** Less than a million rows in any form take: the file has more than 300 MiB. */
const allowedMib = 48;

describe(`An export of ${users} users`, () => {
  let stage: Stage;
  let laurel: LaurelProcess;
  let address: string;
  let api: number | undefined;
  before(async () => {
    stage = await setStage();
    laurel = serve(stage.env);
    address = await laurel.address();
    api = laurel.processes().get('api-1');
    await insertUsers(stage.pool, users, { nameChars });
    await stage.pool.query('analyze users');
  });
  after(async () => {
    await killChildren();
    await stage.stop();
  });

  /** The memory of the process that serves the API, in MiB. */
  async function memoryMib(): Promise<number> {
    const status = await readFile(`/proc/${api}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
  }

  it('takes no more memory at its end than at its middle', async () => {
    const response = await beginExport({ address }, 'users?format=ndjson');
    const peaks = { first: 0, second: 0 };
    let lines = 0;
    let bytes = 0;
    let measuredAt = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      for (const byte of chunk) if (byte === 10) lines += 1;
      if (bytes - measuredAt < 8 * mib) continue;
      measuredAt = bytes;
      const half = lines < users / 2 ? 'first' : 'second';
      peaks[half] = Math.max(peaks[half], await memoryMib());
    }
    expect(lines).to.equal(users);
    expect(bytes).to.be.greaterThan(300 * mib);
    expect(peaks.first).to.be.greaterThan(0);
    expect(peaks.second - peaks.first, JSON.stringify(peaks)).to.be.lessThan(allowedMib);
  });
});
