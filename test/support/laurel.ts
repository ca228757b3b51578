/** The `laurel` command from the sources, for tests that run it as a process of its own: what bin/laurel.mjs does, without a build. */
import { main } from '../../src/commands/main.js';

await main(process.argv.slice(2));
