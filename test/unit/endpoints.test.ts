import { expect } from 'chai';
import { endpoints } from '../../src/api/router.js';

const segments = (pattern: string): string[] => pattern.split('/');
const isParameter = (segment: string): boolean => segment.startsWith(':');

/** Whether a path can be of both patterns. */
function overlap(a: string, b: string): boolean {
  const [left, right] = [segments(a), segments(b)];
  return (
    left.length === right.length && left.every((segment, i) => segment === right[i] || isParameter(segment) || isParameter(right[i] ?? ''))
  );
}

describe('The endpoints', () => {
  // The router takes the first one that matches, and the index (find-my-way) the one that has the earlier literal segment.
  it('that share paths stand in the order in which the index prefers them', () => {
    const wrong = endpoints.flatMap((first, i) =>
      endpoints
        .slice(i + 1)
        .filter(({ route, pattern }) => route.method === first.route.method && overlap(first.pattern, pattern))
        .filter(({ pattern }) => {
          const later = segments(pattern);
          const differs = segments(first.pattern).findIndex((segment, at) => segment !== later[at]);
          return differs < 0 || isParameter(segments(first.pattern)[differs] ?? '');
        })
        .map(({ pattern }) => `${first.route.method} ${first.pattern} before ${pattern}`),
    );
    expect(wrong).to.deep.equal([]);
  });
});
