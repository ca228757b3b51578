/** Kinds that others refer to, as sentences call them. */
export type ReferenceKind = 'metric' | 'points system' | 'achievement' | 'user attribute' | 'event attribute';
export type ObjectKind = ReferenceKind | 'level' | 'trigger' | 'boost' | 'leaderboard' | 'webhook' | 'template';
