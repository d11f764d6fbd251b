/**
 * The page at `/dashboard`. It redeems the ticket of `mesh open`, and shows whether it speaks as
 * the human.
 */

import { createHash } from "node:crypto";

const STYLE = `:root { color-scheme: light dark }
body { font: 1rem/1.6 system-ui, sans-serif; margin: 3rem auto; max-width: 40rem; padding: 0 1rem }
code { font-family: ui-monospace, monospace }
[hidden] { display: none }`;

/**
 * The ticket is in the URL's fragment, which browsers send to no server. The script first removes
 * the ticket from the address. A page opened by a link on another site has no cookie yet, so it
 * reloads once.
 */
const SCRIPT = `const show = (id) => {
  for (const part of document.querySelectorAll("main > section")) part.hidden = part.id !== id;
};
const ticket = new URLSearchParams(location.hash.slice(1)).get("ticket");
history.replaceState(null, "", location.pathname);
async function start() {
  if (ticket) {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ ticket });
    const redeemed = await fetch("dashboard/session", { method: "POST", headers, body });
    if (!redeemed.ok) return show("refused");
  }
  const answer = await fetch("dashboard/session");
  if (!answer.ok) {
    if (sessionStorage.getItem("mesh-again")) return show("unknown");
    sessionStorage.setItem("mesh-again", "1");
    return location.reload();
  }
  sessionStorage.removeItem("mesh-again");
  const { human, human_name } = await answer.json();
  for (const name of document.querySelectorAll("[data-name]")) name.textContent = human_name ?? "";
  show(human ? "human" : human_name === null ? "nobody" : "operator");
}
start().catch(() => show("unknown"));`;

const BODY = `<header><h1>Agent Mesh</h1></header>
<main aria-live="polite">
<section id="loading"><p>Asking the daemon for whom this page speaks…</p></section>
<section id="human" hidden><p>This browser speaks as <strong data-name></strong>.</p></section>
<section id="operator" hidden><p>This page shows everything, but its messages do not count as
<strong data-name></strong>'s: it was not opened with a ticket. Run <code>mesh open</code> in a terminal
to change that.</p></section>
<section id="nobody" hidden><p>No human is registered. Run <code>mesh config set human.name YOU</code>,
restart the daemon, then run <code>mesh open</code>.</p></section>
<section id="refused" hidden><p role="alert">The ticket was already used, or is older than a minute.
Run <code>mesh open</code> again.</p></section>
<section id="unknown" hidden><p role="alert">The daemon does not accept this page. Run
<code>mesh open</code> in a terminal of the user who runs the daemon.</p></section>
<noscript><p>This page needs JavaScript.</p></noscript>
</main>`;

const POLICY = [
  "default-src 'none'",
  `style-src '${hashOf(STYLE)}'`,
  `script-src '${hashOf(SCRIPT)}'`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Agent Mesh</title>
<style>${STYLE}</style>
</head>
<body>
${BODY}
<script>${SCRIPT}</script>
</body>
</html>
`;

export function dashboardPage(cookie: string | undefined): Response {
  return new Response(PAGE, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": POLICY,
      "cross-origin-opener-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "cache-control": "no-store",
      ...(cookie !== undefined && { "set-cookie": cookie }),
    },
  });
}

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}
