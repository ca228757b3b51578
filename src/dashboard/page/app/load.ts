import { checkResponse } from '../api/client.js';
import { ApiError, noResponse } from '../api/errors.js';
import { hasDrafts } from '../editor/draft/draft-storage.js';

/** The path of the script that this code is in. Its name changes with every screen, since it names their scripts. */
const script = new URL(import.meta.url).pathname;

/** A page that was loaded less than this ago is not loaded again by itself: servers of two versions may take turns during an update. */
const recentMs = 10_000;

/** The HTML of the page, as the service has it now. */
async function readPage(): Promise<string> {
  const response = await fetch('/dashboard', { cache: 'no-cache' }).catch(() => {
    throw noResponse();
  });
  await checkResponse(response);
  return response.text();
}

/** Lets the browser ask before it closes a tab with a draft, which ends with the tab. */
export function askForDraft(event: BeforeUnloadEvent): void {
  if (hasDrafts(sessionStorage)) event.preventDefault();
}

/** Loads the page again. Drafts stay, so the browser does not ask. */
function reload(): void {
  removeEventListener('beforeunload', askForDraft);
  location.reload();
}

/** Loads the page again once the service responds. Nothing less helps in every browser: some keep the failure of a script. */
export async function loadAgain(): Promise<void> {
  await readPage();
  reload();
}

/**
 * Loads the script of a screen. An updated service does not have the scripts of the version before: then the page is loaded again. Throws an ApiError
 * that says so, or why the screen can't be loaded.
 */
export const loadScreen = <T>(load: () => Promise<T>): Promise<T> =>
  load().catch(async () => {
    const isOutdated = !(await readPage()).includes(script);
    if (!isOutdated || performance.now() < recentMs) throw new ApiError(0, 'The service did not send this screen. Try again in a moment.');
    reload();
    throw new ApiError(0, 'Laurel has been updated: the dashboard is loading its new version.');
  });
