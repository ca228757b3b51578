import { Badge } from '../../ui/badge.js';

const tones: Readonly<Record<string, 'neutral' | 'good' | 'warning' | 'bad'>> = {
  active: 'good',
  delivered: 'good',
  'in sync': 'good',
  sent: 'good',
  scheduled: 'neutral',
  pending: 'neutral',
  bounced: 'warning',
  complained: 'warning',
  locked: 'warning',
  restoring: 'warning',
  failed: 'bad',
  failing: 'bad',
  'out of sync': 'bad',
  'switched off': 'bad',
};

/** A status in the words of the API. */
export function StatusBadge({ status }: { readonly status: string }) {
  return <Badge tone={tones[status] ?? 'neutral'}>{status}</Badge>;
}
