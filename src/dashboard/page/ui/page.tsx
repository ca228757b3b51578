import type { ComponentChildren } from 'preact';
import { useHeading } from './heading.js';

interface PageProps {
  readonly title: string;
  /** A line below the title. */
  readonly about?: ComponentChildren;
  /** Buttons beside the title. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A screen, with its title in the tab too. */
export function Page({ title, about, actions, children }: PageProps) {
  const heading = useHeading(title);
  return (
    <div class="page">
      <header class="page-header">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {about !== undefined && <p class="about">{about}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** A part of a screen with a heading. */
export function Panel({
  title,
  actions,
  children,
}: {
  readonly title: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section class="panel" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </section>
  );
}

/** A number with its name. */
export function Stat({
  label,
  value,
  detail,
}: {
  readonly label: string;
  readonly value: ComponentChildren;
  readonly detail?: ComponentChildren;
}) {
  return (
    <div class="stat">
      <span class="stat-label">{label}</span>
      <strong class="stat-value">{value}</strong>
      {detail !== undefined && <span class="stat-detail">{detail}</span>}
    </div>
  );
}
