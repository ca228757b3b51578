'use strict';

const { writeFileSync } = require('node:fs');
const { relative } = require('node:path');
const { reporters } = require('mocha');

/** The largest values of a map, one line each. */
function largest(milliseconds, count) {
  const sorted = [...milliseconds].sort(([, x], [, y]) => y - x).slice(0, count);
  return sorted.map(([name, ms]) => `  ${(ms / 1000).toFixed(1).padStart(6)} s  ${name}`).join('\n');
}

/**
 * Mocha's spec reporter, plus figures about the run:
 * - MOCHA_COUNTS names the file that receives the counts and what failed. It is written at the end of a run only, so that an aborted run
 *   leaves no file and .ci/run can't take it for a passed one.
 * - MOCHA_SLOWEST=20 lists the 20 slowest files (tests and hooks) and the 20 slowest tests.
 */
module.exports = class CountingSpec extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const { MOCHA_COUNTS: countsFile, MOCHA_SLOWEST: slowest } = process.env;
    const failed = [];
    runner.on('fail', (test, error) => failed.push(`${test.fullTitle()}: ${error.message}`));
    const files = new Map();
    const tests = new Map();
    const add = (runnable) => {
      const file = relative(process.cwd(), runnable.file ?? '');
      files.set(file, (files.get(file) ?? 0) + (runnable.duration ?? 0));
      return file;
    };
    if (slowest) {
      runner.on('hook end', add);
      runner.on('test end', (test) => tests.set(`${add(test)}: ${test.fullTitle()}`, test.duration ?? 0));
    }
    runner.once('end', () => {
      const { passes, failures, pending } = this.stats;
      if (countsFile) writeFileSync(countsFile, JSON.stringify({ passes, failures, pending, failed }));
      if (slowest) console.log(`Slowest files:\n${largest(files, slowest)}\nSlowest tests:\n${largest(tests, slowest)}`);
    });
  }
};
