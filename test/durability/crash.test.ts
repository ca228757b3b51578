import { describeCrash } from '../support/crash.js';

/** The long run is test/long/crash.test.ts. */
describeCrash(1);
