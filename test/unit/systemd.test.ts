import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import which from 'which';
import { parseSettings, settingsSchema } from '../../src/app/settings.js';
import { limits } from '../../src/shared/limits.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('The units for systemd', () => {
  const folder = join(root, 'deploy', 'systemd');
  const units = readdirSync(folder);
  /** All values of a directive. */
  const valuesOf = (unit: string, directive: string): string[] =>
    [...readFileSync(join(folder, unit), 'utf8').matchAll(new RegExp(`^${directive}=(.*)$`, 'gm'))].map(([, value = '']) => value);

  it('run commands of the npm package', () => {
    expect(units).to.have.members(['laurel.service', 'laurel-api@.service', 'laurel-worker.service']);
    const { name, bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { name: string; bin: Record<string, string> };
    for (const unit of units) {
      const [command = ''] = valuesOf(unit, 'ExecStart');
      expect(command, unit).to.match(
        new RegExp(`^/usr/bin/node .*\\bnode_modules/${name}/${bin['laurel']!} (?:serve|serve --api-only|worker)$`),
      );
    }
  });

  it('have settings that Laurel has', () => {
    for (const unit of units) {
      const variables = valuesOf(unit, 'Environment').flatMap((line) => line.split(' ').map((part) => part.split('=', 1)[0]!));
      expect(
        variables.filter((variable) => variable !== 'NODE_ENV' && !(variable in settingsSchema.shape)),
        unit,
      ).to.deep.equal([]);
    }
  });

  it('wait for longer than the supervisor does before they kill', () => {
    const { shutdownDelayS } = parseSettings({});
    for (const unit of units) {
      expect(Number(valuesOf(unit, 'TimeoutStopSec')[0]), unit).to.be.above(shutdownDelayS + limits.processStopMs / 1_000);
      expect(valuesOf(unit, 'KillMode'), unit).to.deep.equal(['mixed']);
    }
  });

  it('are protected alike', () => {
    const protection = (unit: string): string => readFileSync(join(folder, unit), 'utf8').split(/^(?=LimitNOFILE=)/m)[1]!;
    for (const unit of units) expect(protection(unit), unit).to.equal(protection('laurel.service'));
  });

  const analyze = which.sync('systemd-analyze', { nothrow: true });
  if (analyze !== null) {
    for (const unit of units) {
      it(`pass systemd-analyze: ${unit}`, () => {
        const copies = mkdtempSync(join(tmpdir(), 'laurel-units-'));
        try {
          // A program that this machine lacks would be a fault of the unit.
          const text = readFileSync(join(folder, unit), 'utf8')
            .replaceAll('/usr/bin/node', process.execPath)
            .replaceAll('/usr/bin/curl', process.execPath)
            .replaceAll('/bin/kill', process.execPath);
          const file = join(copies, unit);
          writeFileSync(file, text);
          const verified = spawnSync(analyze, ['verify', file], { encoding: 'utf8' });
          expect([verified.status, verified.stdout + verified.stderr]).to.deep.equal([0, '']);
          // The exposure is between 0 and 10, and the threshold ten times that. Without any protection it is 9.6.
          const judged = spawnSync(analyze, ['security', '--offline=true', '--threshold=20', file], { encoding: 'utf8' });
          expect(judged.status, judged.stdout).to.equal(0);
        } finally {
          rmSync(copies, { recursive: true });
        }
      });
    }
  }
});
