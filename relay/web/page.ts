/** HTML pages that work without scripts, with a strict content security policy. */

import { createHash } from "node:crypto";
import { escapeMarkup } from "kit/core/text.ts";
import { MARK, SMALL_PAGE_STYLE } from "../../dashboard/files/small_page.ts";

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
    `style-src '${hashOf(SMALL_PAGE_STYLE)}'`,
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
        <style>${new Markup(SMALL_PAGE_STYLE)}</style>
      </head>
      <body>
    <header><a href="/">${new Markup(MARK)}Agent Mesh</a>${aside}</header>
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
