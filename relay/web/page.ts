/** HTML pages that work without scripts, with a strict content security policy. */

import { createHash } from "node:crypto";
import { escapeMarkup } from "kit/core/text.ts";

/** Markup that `html` has made. It is not escaped again. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type HtmlValue = string | number | Markup | readonly Markup[] | undefined;

/** A template tag that escapes every value. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Markup {
  const text = parts.map((part, at) => part + (at < values.length ? toText(values[at]) : ""));
  return new Markup(text.join(""));
}

function toText(part: HtmlValue): string {
  if (part === undefined) return "";
  if (part instanceof Markup) return part.text;
  if (typeof part === "object") return part.map(({ text }) => text).join("\n");
  return escapeMarkup(String(part)).replaceAll('"', "&quot;").replaceAll("'", "&#39;");
}

// Colours first, then elements. The contrast is at least 4.5 to 1 in both colour schemes.
const STYLE = `
:root { color-scheme: light dark; --ink: #1b1d21; --soft: #575d67; --ground: #fbfbfa;
  --raised: #ffffff; --line: #d9dbdf; --accent: #1f5fbf; --on-accent: #ffffff; --bad: #a3231f }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e9eb; --soft: #a4aab4; --ground: #15171a;
  --raised: #1e2125; --line: #3a3f47; --accent: #8db8ff; --on-accent: #10213d; --bad: #ff9d97 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 42rem; padding: 2rem 1.25rem 4rem; background: var(--ground);
  color: var(--ink); font: 1rem/1.6 system-ui, sans-serif }
header { display: flex; align-items: baseline; justify-content: space-between; gap: 1rem;
  border-bottom: 1px solid var(--line); padding-bottom: .75rem; margin-bottom: 2rem }
header a { color: inherit; font-weight: 600; text-decoration: none }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .75rem }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
p, ul, dl { margin: 0 0 1rem } a { color: var(--accent) } .soft { color: var(--soft) }
label { display: block; font-weight: 600; margin-bottom: .25rem }
input, textarea { width: 100%; padding: .6rem .7rem; border: 1px solid var(--soft);
  border-radius: .4rem; background: var(--raised); color: var(--ink); font: inherit }
fieldset { border: 1px solid var(--line); border-radius: .5rem; margin: 0 0 1rem;
  padding: .4rem 1rem .2rem } legend { padding: 0 .3rem; font-weight: 600 }
label.choice { display: flex; align-items: baseline; gap: .6rem; font-weight: normal;
  margin-bottom: .6rem; cursor: pointer }
input[type=radio] { width: auto; flex: none; margin: 0; accent-color: var(--accent) }
button { margin-top: .75rem; padding: .55rem 1.1rem; border: 1px solid var(--accent);
  border-radius: .4rem; background: var(--accent); color: var(--on-accent); font: inherit;
  font-weight: 600; cursor: pointer }
button.quiet { margin: 0; background: none; color: var(--accent); padding: .3rem .8rem }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.bad { border-left: .3rem solid var(--bad); padding: .1rem .9rem; color: var(--bad) }
ul.cards { list-style: none; padding: 0 }
ul.cards li { border: 1px solid var(--line); border-radius: .5rem; background: var(--raised);
  padding: .8rem 1rem; margin-bottom: .75rem; overflow-wrap: anywhere }
ul.news { list-style: none; padding: 0; overflow-wrap: anywhere }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line);
  border-radius: .4rem; background: var(--raised); padding: .8rem 1rem; font: inherit }
code, time { font-family: ui-monospace, monospace; font-size: .92em; overflow-wrap: anywhere }
dt { color: var(--soft) } dd { margin: 0 0 .5rem }
`;

/**
 * The content security policy of responses that are not pages of the relay. If a browser opens such
 * a response in a tab, it can run and load nothing on the origin that has the session cookie. No
 * page can put it in a frame.
 */
export const SANDBOX = "default-src 'none'; sandbox; frame-ancestors 'none'";

interface PageOptions {
  readonly title: string;
  readonly status?: number;
  /** Markup that is shown at the right of the header. */
  readonly aside?: Markup;
  /** The only script that may run on the page. The page must be complete without it. */
  readonly script?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A response with an HTML page. The policy has no `form-action`, because browsers apply that to the
 * redirects of a form too, and would block the callback of an OAuth client (contract 9).
 */
export function page(options: PageOptions, body: Markup): Response {
  const { title, status = 200, aside, script, headers = {} } = options;
  const policy = [
    "default-src 'none'",
    `style-src '${hashOf(STYLE)}'`,
    ...(script === undefined ? [] : [`script-src '${hashOf(script)}'`, "connect-src 'self'"]),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  const code = script === undefined ? undefined : new Markup(`<script>${script}</script>`);
  const { text } = html`
    <!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>${title} · Agent Mesh</title>
        <style>${new Markup(STYLE)}</style>
      </head>
      <body>
    <header><a href="/">Agent Mesh</a>${aside}</header>
    <main>
    ${body}
    </main>
    ${code}
      </body>
    </html>
  `;
  return new Response(text, {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy.join("; "),
      "referrer-policy": "same-origin",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "cross-origin-opener-policy": "same-origin",
      "cache-control": "no-store",
      ...headers,
    },
  });
}

/** A time in UTC, because a page without a script does not know the reader's time zone. */
export function timeOf(at: number): Markup {
  const iso = new Date(at).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace("T", " ")} UTC</time>`;
}

/** Redirects to another page of the relay after a form was posted. */
export function seeOther(location: string, headers: Record<string, string> = {}): Response {
  return new Response(null, {
    status: 303,
    headers: { location, "cache-control": "no-store", ...headers },
  });
}

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}
