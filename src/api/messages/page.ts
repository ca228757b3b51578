import { createHash } from 'node:crypto';
import type Koa from 'koa';
import { Liquid } from 'liquidjs';

/** Every output is escaped unless it is marked `raw`. */
const liquid = new Liquid({ outputEscape: 'escape', strictVariables: true, strictFilters: true });

/** The brand on a page. */
export interface PageBrand {
  readonly name: string;
  /** `#rrggbb`. */
  readonly color: string;
  readonly logoUrl: string | null;
  readonly url: string | null;
}

/** A check box. */
export interface BoxView {
  readonly name: string;
  readonly label: string;
  readonly isChecked: boolean;
}

export interface PreferencesView {
  readonly token: string;
  readonly user: string;
  readonly isSubscribed: boolean;
  /** The box of emails as a whole; null for a user without an address. */
  readonly emails: BoxView | null;
  readonly groups: readonly { readonly title: string; readonly boxes: readonly BoxView[] }[];
  /** What has just happened; null for nothing. */
  readonly notice: string | null;
}

export interface PageView {
  readonly title: string;
  /** Null for a page that belongs to no tenant. */
  readonly brand: PageBrand | null;
  /** A sentence in the place of the form; null for a page with a form. */
  readonly sentence: string | null;
  readonly preferences: PreferencesView | null;
  /** The button that confirms an address; none without it. */
  readonly confirm?: { readonly token: string; readonly label: string } | null;
}

const neutralColor = '#4f46e5';

const style = liquid.parse(`
:root { color-scheme: light dark; --accent: {{ color | raw }}; --text: #1a1a1a; --faint: #595959; --page: #f4f4f5; --card: #fff; --line: #8a8a8a; }
@media (prefers-color-scheme: dark) {
  :root { --text: #f4f4f5; --faint: #b4b4b8; --page: #18181b; --card: #27272a; --line: #85858c; }
}
* { box-sizing: border-box; }
body { margin: 0; padding: 1rem; background: var(--page); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
main { max-width: 32rem; margin: 1rem auto; padding: 1.5rem; background: var(--card); border-top: .375rem solid var(--accent); border-radius: .5rem; }
h1 { margin: 1rem 0 .5rem; font-size: 1.375rem; line-height: 1.25; }
img { display: block; max-width: 12rem; max-height: 3rem; }
fieldset { margin: 1.25rem 0; padding: 0; border: 0; }
legend { padding: 0; font-weight: 600; }
label { display: flex; gap: .75rem; align-items: center; min-height: 2.75rem; }
input { width: 1.25rem; height: 1.25rem; margin: 0; accent-color: var(--accent); flex: none; }
button { width: 100%; min-height: 2.75rem; margin-top: .75rem; padding: .5rem 1rem; font: inherit; font-weight: 600; border-radius: .375rem;
  border: 1px solid var(--line); background: transparent; color: inherit; cursor: pointer; }
button.main { background: var(--text); color: var(--card); border-color: var(--text); }
.notice { padding: .75rem 1rem; border-left: .25rem solid var(--accent); background: var(--page); }
.faint { color: var(--faint); }
a { color: inherit; }
`);

const box = (name: string): string =>
  `<label><input type="checkbox" name="on" value="{{ ${name}.name }}"{% if ${name}.isChecked %} checked{% endif %}>
<input type="hidden" name="shown" value="{{ ${name}.name }}">{{ ${name}.label }}</label>`;

const form = `
<p class="faint">Choose what {{ brand.name }} sends{% if preferences.user != '' %} to {{ preferences.user }}{% endif %}.</p>
<form method="post" action="{{ preferences.token }}/preferences">
{%- if preferences.emails %}
<fieldset><legend>All emails</legend>
{% assign each = preferences.emails %}${box('each')}
</fieldset>
{%- endif %}
{%- for group in preferences.groups %}
<fieldset><legend>{{ group.title }}</legend>
{%- for each in group.boxes %}
${box('each')}
{%- endfor %}
</fieldset>
{%- endfor %}
<button class="main">Save</button>
</form>
{%- if preferences.isSubscribed %}
<form method="post" action="{{ preferences.token }}">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<button>Stop all emails</button>
</form>
{%- endif %}`;

const page = liquid.parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{{ title }}{% if brand %} – {{ brand.name }}{% endif %}</title>
<style>{{ style | raw }}</style>
</head>
<body>
<main>
{%- if brand %}
{%- if brand.logoUrl %}
<img src="{{ brand.logoUrl }}" alt="{{ brand.name }}">
{%- endif %}
{%- endif %}
<h1>{{ title }}</h1>
{%- if preferences %}
{%- if preferences.notice %}
<p class="notice" role="status">{{ preferences.notice }}</p>
{%- endif %}
${form}
{%- else %}
<p>{{ sentence }}</p>
{%- if confirm %}
<form method="post" action="{{ confirm.token }}"><button class="main">{{ confirm.label }}</button></form>
{%- endif %}
{%- endif %}
{%- if brand %}
{%- if brand.url %}
<p class="faint"><a href="{{ brand.url }}">{{ brand.name }}</a></p>
{%- endif %}
{%- endif %}
</main>
</body>
</html>
`);

/** A page may load its own style and the logo, send its form to this server, and nothing else. */
function policyOf(css: string, brand: PageBrand | null): string {
  const hash = createHash('sha256').update(css).digest('base64');
  const logo = brand?.logoUrl === null || brand?.logoUrl === undefined ? "'none'" : new URL(brand.logoUrl).origin;
  return [
    "default-src 'none'",
    `style-src 'sha256-${hash}'`,
    `img-src ${logo}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** Sends a page that browsers neither store nor index, and that tells its address to no other site. */
export function sendPage(context: Koa.Context, status: number, view: PageView): void {
  const css = liquid.renderSync(style, { color: view.brand?.color ?? neutralColor }) as string;
  context.status = status;
  context.set({
    'Content-Security-Policy': policyOf(css, view.brand),
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Robots-Tag': 'noindex, nofollow',
  });
  context.type = 'html';
  context.body = liquid.renderSync(page, { confirm: null, ...view, style: css }) as string;
}

/** Whether errors at an address, as it was sent, are pages: at those of links, which people open. */
export const isPagePath = (url: string): boolean => /^\/m\/[uck]\//.test(url);

/** Sends an error as a page. */
export function sendErrorPage(context: Koa.Context, status: number, sentence: string): void {
  sendPage(context, status, { title: 'Something went wrong', brand: null, sentence, preferences: null });
}
