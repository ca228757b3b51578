import { useQuery } from '@tanstack/preact-query';
import './screens.css';
import type { components } from '../../api/schema/admin.js';
import type { Read } from '../../api/query-client.js';
import { useScope } from '../../scope/scope.js';
import { Badge } from '../../ui/badge.js';
import { formatCount } from '../../ui/format.js';

export type Status = components['schemas']['Status'];

/** How often screens that show the status read it, and how often the navigation does besides. */
export const statusRefreshMs = 5_000;
const badgeRefreshMs = 30_000;

/** The state of the installation. A key of a tenant can't read it. */
export function useStatus(refetchInterval: number): Read<Status> {
  const { api, session } = useScope();
  return useQuery<Status>({ ...api.admin.query('/status'), refetchInterval, enabled: session.key.tenantId === null });
}

/** What the service finds wrong with the installation: a sentence for each problem. */
export function Problems({ problems }: { readonly problems: readonly string[] }) {
  if (problems.length === 0) return <p class="note good">Laurel finds no problems.</p>;
  return (
    <div class="note error" role="status">
      <ul class="sentences">
        {problems.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </div>
  );
}

/** How many problems there are, beside a title; nothing without one, or while it is not known. */
export function ProblemsBadge() {
  const { data } = useStatus(badgeRefreshMs);
  if (data === undefined || data.problems.length === 0) return null;
  return (
    <>
      {' '}
      <Badge tone="bad">{formatCount(data.problems.length, 'problem')}</Badge>
    </>
  );
}
