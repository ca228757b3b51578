import { createHash } from 'node:crypto';
import type Router from '@koa/router';

/** Shows what the page sends in place of the document. The parser marks scripts so that they never run, and the policy refuses them as well. */
const script = [
  "addEventListener('message', ({ source, data }) => {",
  "  if (source !== parent || typeof data !== 'string') return;",
  "  const { documentElement } = new DOMParser().parseFromString(data, 'text/html');",
  '  document.documentElement.replaceWith(document.adoptNode(documentElement));',
  '});',
].join('\n');

const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Preview</title></head><body><script>${script}</script></body></html>`;

/** The document has no origin, runs only its own script, and loads nothing but images; emails have inline styles. */
const policy = [
  'sandbox allow-scripts',
  "default-src 'none'",
  `script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`,
  "style-src 'unsafe-inline'",
  'img-src https: http: data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join('; ');

/**
 * `GET /dashboard/preview`: an empty document, in which the page shows the email of a template that is not applied yet. It holds no data and needs
 * no session. The page gets the email from `POST /admin/v1/messages/preview`, and sends it to the frame as a message.
 */
export function previewFrame(router: Router): void {
  router.get('/dashboard/preview', (context) => {
    context.set({ 'Content-Security-Policy': policy, 'Cache-Control': 'no-cache' });
    context.type = 'html';
    context.body = html;
  });
}
