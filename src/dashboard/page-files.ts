import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type Router from '@koa/router';
import type Koa from 'koa';
import { sendFile, type StaticFile } from '../api/static-file.js';
import { LaurelError } from '../shared/errors.js';

/** What the page may load: its own scripts, styles and data. Badges of achievements are images of any site, and no frame but a preview is shown. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: https: http:",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const pageHeaders = {
  'Content-Security-Policy': policy,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  'X-Robots-Tag': 'noindex, nofollow',
};

const builtFolder = fileURLToPath(new URL('../../dist/dashboard-page', import.meta.url));
const assetsFolder = 'assets';
const indexFile = 'index.html';

/** Reads a file with the variants that bin/page.mjs writes. */
async function load(folder: string, name: string): Promise<StaticFile> {
  const read = (suffix: string): Promise<Buffer> => readFile(join(folder, name + suffix));
  const [br, gzip, identity] = await Promise.all([read('.br'), read('.gz'), read('')]);
  return { name, etag: createHash('sha256').update(identity).digest('base64url'), contents: { br, gzip, identity } };
}

/** The page and its assets in memory, read with the first request. */
export class PageFiles {
  private readonly folder: string;
  private loading: Promise<ReadonlyMap<string, StaticFile>> | undefined;

  constructor(folder: string = builtFolder) {
    this.folder = folder;
  }

  /** Undefined for an unknown name. Throws a 404 as long as the page is not built. */
  async find(name: string): Promise<StaticFile | undefined> {
    this.loading ??= this.loadAll();
    try {
      return (await this.loading).get(name);
    } catch (error) {
      this.loading = undefined;
      throw new LaurelError('not_found', 'The page of the dashboard is not built: run npm run build, and load this page again.', {
        cause: error,
      });
    }
  }

  private async loadAll(): Promise<ReadonlyMap<string, StaticFile>> {
    const folder = join(this.folder, assetsFolder);
    const names = (await readdir(folder)).filter((name) => !/\.(?:br|gz)$/.test(name));
    const assets = names.map(async (name) => [`${assetsFolder}/${name}`, await load(folder, name)] as const);
    return new Map([[indexFile, await load(this.folder, indexFile)], ...(await Promise.all(assets))]);
  }
}

/** The assets, whose names change with their contents: browsers keep them for good. */
export function pageRoutes(router: Router, files: PageFiles): void {
  router.get('/dashboard/assets/:name', async (context) => {
    const name = `${assetsFolder}/${context.params['name'] ?? ''}`;
    const file = await files.find(name);
    if (!file) throw new LaurelError('not_found', 'There is no such file. Load the dashboard again: it has been updated.');
    context.set('Cache-Control', 'public, max-age=31536000, immutable');
    sendFile(context, file);
  });
}

/** The addresses of screens, which the page itself tells apart. */
const screens = /^\/dashboard(?:\/(?!(?:api|assets|preview|session)(?:\/|$)).*)?$/;

/** Serves the page at every address of a screen. It holds no data, so it needs no session. */
export function servePage(files: PageFiles): Koa.Middleware {
  return async (context, next) => {
    const isScreen = ['GET', 'HEAD'].includes(context.method) && screens.test(context.path);
    const file = isScreen ? await files.find(indexFile) : undefined;
    if (!file) {
      await next();
      return;
    }
    context['_matchedRoute'] = '/dashboard';
    context.set({ ...pageHeaders, 'Cache-Control': 'no-cache' });
    sendFile(context, file);
  };
}
