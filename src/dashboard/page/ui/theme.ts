/** The colors that the operator has chosen in this browser: those of the system, light or dark ones. */
import { storedPreference, storePreference } from '../scope/preferences.js';

export const themes = { system: 'System', light: 'Light', dark: 'Dark' } as const;
export type Theme = keyof typeof themes;

const changed = new EventTarget();

export function storedTheme(): Theme {
  const stored = storedPreference('laurel-theme');
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

/** Gives the page the colors of a theme, by the attribute that its styles go by. */
export function applyTheme(theme: Theme): void {
  document.documentElement.dataset['theme'] = theme;
  changed.dispatchEvent(new Event('change'));
}

export function storeTheme(theme: Theme): void {
  storePreference('laurel-theme', theme);
  applyTheme(theme);
}

/** Calls `listener` when the colors change, by the operator or by the system. Returns what ends that. */
export function onColorChange(listener: () => void): () => void {
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  const sources: readonly EventTarget[] = [scheme, changed];
  for (const source of sources) source.addEventListener('change', listener);
  return () => {
    for (const source of sources) source.removeEventListener('change', listener);
  };
}
