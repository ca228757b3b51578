import './facts.css';
import type { ComponentChildren } from 'preact';

export interface Fact {
  readonly title: string;
  readonly value: ComponentChildren;
}

/** Names and values of one thing. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(({ title, value }) => (
        <div key={title}>
          <dt>{title}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
