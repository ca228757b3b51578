import { describeDecimal } from '../support/decimal-properties.js';

/** The long run is test/long/decimal.test.ts. */
describeDecimal(300);
