/** `npm start`: everything from a fresh clone to a service that responds. */
import { run } from './run.mjs';

await run(['serve', ...process.argv.slice(2)]);
