import type { ComponentChildren } from 'preact';
import { useCallback, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useHeading } from './heading.js';
import { OpeningContext } from './states.js';

interface PageProps {
  readonly title: string;
  /** A line below the title. */
  readonly about?: ComponentChildren;
  /** Buttons beside the title. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** The longest that a screen waits for what it reads before it shows what it has. */
const openingMs = 1_000;

/** Whether a screen still reads what it shows first: until then, its parts are hidden, so that none moves another. `count` counts reads. */
function useOpening(): readonly [isOpening: boolean, count: (by: number) => void] {
  const [isOpening, setIsOpening] = useState(true);
  const reads = useRef(0);
  const count = useCallback((by: number): void => {
    reads.current += by;
    // What a read has returned may show parts that read more.
    queueMicrotask(() => {
      if (reads.current === 0) setIsOpening(false);
    });
  }, []);
  useLayoutEffect(() => {
    count(0);
    const timer = setTimeout(() => setIsOpening(false), openingMs);
    return () => clearTimeout(timer);
  }, []);
  return [isOpening, count];
}

/** A screen, with its title in the tab too. */
export function Page({ title, about, actions, children }: PageProps) {
  const heading = useHeading(title);
  const [isOpening, count] = useOpening();
  return (
    <div class={isOpening ? 'page opening' : 'page'} aria-busy={isOpening}>
      <header class="page-header">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {about !== undefined && <p class="about">{about}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {isOpening && <progress class="opening-progress" aria-label="Loading" />}
      <OpeningContext.Provider value={count}>{children}</OpeningContext.Provider>
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
