import type { ComponentChildren } from 'preact';

/** A state, with its color beside the word: `active`, `failed`. */
export function Badge({
  tone = 'neutral',
  children,
}: {
  readonly tone?: 'neutral' | 'good' | 'warning' | 'bad';
  readonly children: ComponentChildren;
}) {
  return <span class={`badge ${tone}`}>{children}</span>;
}
