import type { BrowserContext, Page } from 'playwright-core';

/** Remembers what the policy of a page has refused, and what an injected text would set. */
const watch = `
  globalThis.refusedByPolicy = [];
  document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
    globalThis.refusedByPolicy.push(violatedDirective + ' ' + blockedURI);
  });
`;

/** A tab with the dashboard, which remembers everything that a correct page does not do. */
export class DashboardTab {
  readonly page: Page;
  /** Errors of scripts, messages of the console that are errors, dialogs, and responses that are not a success. */
  readonly problems: string[] = [];
  /** How often the browser has asked whether to leave the page, as it does where something would be lost. Each time, it leaves. */
  unloadWarnings = 0;
  private readonly address: string;

  private constructor(page: Page, address: string) {
    this.page = page;
    this.address = address;
    page.on('pageerror', (error) => this.problems.push(`error: ${error.message}`));
    page.on('console', (message) => {
      if (message.type() === 'error') this.problems.push(`console: ${message.text()} ${message.location().url}`);
    });
    page.on('dialog', (dialog) => {
      if (dialog.type() === 'beforeunload') {
        this.unloadWarnings += 1;
        void dialog.accept();
        return;
      }
      this.problems.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
  }

  /** Opens a tab for the service at an address. */
  static async open(context: BrowserContext, address: string): Promise<DashboardTab> {
    const page = await context.newPage();
    await page.addInitScript(watch);
    return new DashboardTab(page, address);
  }

  /** Opens the sign-in form and signs in with a key. */
  async signIn(key: string): Promise<void> {
    await this.page.goto(`${this.address}/dashboard`);
    await this.enterKey(key);
    // Before the sign-in there is no session, and the browser reports the 401 that says so.
    this.problems.splice(0, this.problems.length, ...this.problems.filter((problem) => !problem.includes('status of 401')));
  }

  /** Signs in with a key in the form that is open. */
  async enterKey(key: string): Promise<void> {
    await this.page.getByLabel('Admin key', { exact: true }).fill(key);
    await this.page.getByRole('button', { name: 'Sign in' }).click();
    await this.page.getByRole('navigation', { name: 'Dashboard' }).waitFor();
  }

  /** Opens a screen by its path below `/dashboard`, and waits for its data. */
  async show(path: string): Promise<void> {
    await this.page.goto(`${this.address}/dashboard${path === '/' ? '' : path}`);
    await this.complete();
  }

  /** Waits until the screen shows everything that it reads. */
  async complete(): Promise<void> {
    await this.page.locator('main h1').waitFor();
    const loading = this.page.locator('main .loading');
    while ((await loading.count()) > 0) await loading.first().waitFor({ state: 'detached' });
  }

  /** What the policy of the page has refused since it was loaded. */
  refusedByPolicy(): Promise<string[]> {
    return this.page.evaluate('globalThis.refusedByPolicy');
  }
}
