import { useLocation } from 'preact-iso';
import { useEffect, useRef, useState } from 'preact/hooks';

/** The path of the screen whose heading was shown last. */
let shownPath = location.pathname;
/** Whether the operator has gone from one screen to another, and the focus has gone with it. */
let hasMoved = false;
let announce: (title: string) => void = () => undefined;

/** Gives the tab the title of a screen. When the operator has gone to the screen, its heading gets the focus, and the title is announced. */
export function useHeading(title: string) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { path } = useLocation();
  useEffect(() => {
    const isNew = location.pathname !== shownPath;
    shownPath = location.pathname;
    hasMoved ||= isNew;
    // The heading that had the focus is gone when a screen shows its data in place of its progress.
    const hasLostFocus = hasMoved && document.activeElement === document.body;
    if (isNew || hasLostFocus) heading.current?.focus({ preventScroll: true });
  }, [path]);
  useEffect(() => {
    document.title = `${title} · Laurel`;
    // Not while the operator types the name that is the title.
    if (document.activeElement === heading.current) announce(title);
  }, [title, path]);
  return heading;
}

/** Says the title of a screen to those who do not see it. */
export function Announcer() {
  const [title, setTitle] = useState('');
  useEffect(() => {
    announce = setTitle;
  }, []);
  return (
    <p class="visually-hidden" aria-live="polite">
      {title}
    </p>
  );
}
