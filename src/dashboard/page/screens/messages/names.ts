import type { components } from '../../api/schema/admin.js';

type Message = components['schemas']['Message'];
type Suppression = components['schemas']['Suppression'];

export const typeNames: Readonly<Record<Message['type'], string>> = {
  achievement_completed: 'Achievement completed',
  recap: 'Recap',
  reactivation: 'Reactivation',
  streak_reminder: 'Streak reminder',
};

export const channelNames: Readonly<Record<Message['channel'], string>> = { email: 'Email', push: 'Push' };

export const statusNames: Readonly<Record<Message['status'], string>> = {
  pending: 'Pending',
  delivered: 'Delivered',
  failed: 'Failed',
  skipped: 'Skipped',
  logged: 'Logged, not sent',
  bounced: 'Bounced',
  complained: 'Complained',
};

export const reasonNames: Readonly<Record<Suppression['reason'], string>> = {
  refused: 'the server refused it for good',
  bounced: 'an email bounced',
  complained: 'the recipient complained',
  manual: 'an operator suppressed it',
};
