import { hostname } from 'node:os';
import { expect } from 'chai';
import { parseSettings } from '../../src/app/settings.js';
import { describeTarget } from '../../src/app/target.js';

describe('The target of a command', () => {
  const target = (env: NodeJS.ProcessEnv): string => describeTarget(parseSettings(env));

  it('is the data folder of the built-in stores', () => {
    expect(target({ DATA_DIR: '/srv/app/.laurel' })).to.equal(
      'Redis: built-in, in /srv/app/.laurel (prefix laurel); Postgres: built-in, in /srv/app/.laurel',
    );
    expect(target({})).to.include(`Redis: built-in, in ${process.cwd()}/.laurel (`);
  });

  it('is the address of each store, without a login', () => {
    const env = {
      REDIS_URL: 'rediss://user:secret@cache.internal/2',
      REDIS_PREFIX: 'games',
      DATABASE_URL: 'postgres://laurel:secret@db.internal/laurel?sslmode=verify-full',
    };
    expect(target(env)).to.equal('Redis: rediss://cache.internal:6379/2 (prefix games); Postgres: db.internal:5432/laurel');
    expect(target({ REDIS_URL: 'local', DATABASE_URL: 'postgres://x:secret@%2Frun%2Fpg:6543/laurel', DATA_DIR: '/data' })).to.equal(
      'Redis: built-in, in /data (prefix laurel); Postgres: /run/pg:6543/laurel',
    );
    expect(
      target({ REDIS_URL: 'unix://:secret@/run/redis.sock', DATABASE_URL: 'postgres://x:secret@db/y?host=/run/pg&password=secret' }),
    ).to.equal(`Redis: unix:///run/redis.sock on ${hostname()} (prefix laurel); Postgres: /run/pg:5432/y`);
  });
});
