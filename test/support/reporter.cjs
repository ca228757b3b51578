'use strict';

const { writeFileSync } = require('node:fs');
const { reporters } = require('mocha');

/**
 * Mocha's spec reporter, which also writes what was counted to the file that MOCHA_COUNTS names. It writes only when the run came to its
 * end, so that a run which died in the middle leaves no file and can't be taken for a passed one (.ci/run).
 */
module.exports = class CountingSpec extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const file = process.env.MOCHA_COUNTS;
    if (!file) return;
    runner.once('end', () => {
      const { passes, failures, pending } = this.stats;
      writeFileSync(file, JSON.stringify({ passes, failures, pending }));
    });
  }
};
