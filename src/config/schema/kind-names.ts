/** Kinds that others refer to, as sentences call them. */
export type ReferenceKind = 'metric' | 'points system' | 'achievement' | 'user attribute' | 'event attribute';
export type ObjectKind = ReferenceKind | 'level' | 'trigger' | 'boost' | 'leaderboard' | 'webhook' | 'template';

/** The lists of a configuration; levels, triggers and boosts are in points systems. */
export type TopListName = 'attributes' | 'metrics' | 'pointsSystems' | 'achievements' | 'leaderboards' | 'webhooks' | 'templates';
export type NestedListName = 'levels' | 'triggers' | 'boosts';
export type ListName = TopListName | NestedListName;
