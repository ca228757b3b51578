#!/usr/bin/env node
/** The `laurel` command. */
import { run } from './run.mjs';

await run(process.argv.slice(2));
