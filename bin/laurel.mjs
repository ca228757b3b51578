#!/usr/bin/env -S node --max-semi-space-size=64
/** The `laurel` command. */
import { run } from './run.mjs';

await run(process.argv.slice(2));
