import { describeCrash } from '../support/crash.js';

describeCrash(10);
