/** What the operator prefers in this browser. Without a storage, which privacy settings may refuse, it holds until the page is left. */

type Preference = 'laurel-theme' | 'laurel-times';

/** The stored text; null without one. */
export function storedPreference(name: Preference): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function storePreference(name: Preference, text: string): void {
  try {
    localStorage.setItem(name, text);
  } catch {
    // It holds for this page all the same.
  }
}
