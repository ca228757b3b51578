import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Observation } from './observation.js';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Whether a request carries the token. Digests are compared, so that the time it takes tells nothing of either text or its length. */
function carries({ headers }: IncomingMessage, token: string): boolean {
  const [scheme = '', sent = ''] = (headers.authorization ?? '').split(' ');
  return scheme.toLowerCase() === 'bearer' && timingSafeEqual(digest(sent), digest(token));
}

function answer(response: ServerResponse, status: number, type: string, body: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body), 'Cache-Control': 'no-store', ...headers });
  response.end(body);
}

const refuse = (response: ServerResponse, status: number, sentence: string, headers?: Record<string, string>): void => {
  answer(response, status, 'application/json', JSON.stringify({ error: sentence }), headers);
};

/** Answers `GET /metrics`, for a token if there is one (docs/operations/monitoring.md), and nothing else. */
export function metricsEndpoint(
  observation: Observation,
  token: string | null,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    if (request.url?.split('?', 1)[0] !== '/metrics') {
      refuse(response, 404, 'There is only /metrics here.');
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      refuse(response, 405, 'The metrics are read with GET.', { Allow: 'GET, HEAD' });
    } else if (token !== null && !carries(request, token)) {
      refuse(response, 401, 'Send METRICS_TOKEN as `Authorization: Bearer …`.', { 'WWW-Authenticate': 'Bearer' });
    } else {
      observation.read().then(
        (text) => {
          answer(response, 200, observation.contentType, text);
        },
        () => {
          refuse(response, 500, 'The metrics could not be put together.');
        },
      );
    }
  };
}
