import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { chromium, type BrowserContext } from 'playwright-core';

/** The Chromium of this machine; .ci/run installs one, and forbids tests that are skipped. */
export const chromiumProgram = ['chromium', 'chromium-browser', 'google-chrome']
  .flatMap((name) => (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name)))
  .find((path) => existsSync(path));

const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];

export interface Browser {
  readonly context: BrowserContext;
  stop(): Promise<void>;
}

/** Starts the Chromium of this machine with a profile of its own. */
export async function startChromium(
  program: string,
  options: { readonly javaScriptEnabled?: boolean; readonly timezoneId?: string } = {},
): Promise<Browser> {
  const folder = await mkdtemp(join(tmpdir(), 'laurel-browser-'));
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: program,
    headless: true,
    ...options,
    args: [...args, '--disable-component-update', '--disable-sync'],
  });
  return {
    context,
    stop: async () => {
      await context.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
