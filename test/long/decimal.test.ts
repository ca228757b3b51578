import { describeDecimal } from '../support/decimal-properties.js';

describeDecimal(3_000);
