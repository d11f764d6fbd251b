/** The page on which a phone enters the one-time code of a machine; for daemon and relay. */

import { createHash } from "node:crypto";
import { MARK, SMALL_PAGE_STYLE } from "./small_page.ts";

/**
 * The code is in the fragment, which browsers send to no server. It counts only once the person has
 * pressed the button: a link alone pairs nothing.
 */
const SCRIPT = `
const field = document.getElementById("code"), problem = document.getElementById("problem");
if (location.hash.length > 1) {
  field.value = decodeURIComponent(location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
}
document.querySelector("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  problem.textContent = "";
  const body = JSON.stringify({ code: field.value, user_agent: navigator.userAgent.slice(0, 512) });
  const headers = { "content-type": "application/json" };
  try {
    const response = await fetch("pair", { method: "POST", headers, body });
    const answer = await response.json();
    if (response.ok) location.replace(answer.page);
    else if (response.status === 401) problem.textContent = "No code waits here. Create a new one.";
    else problem.textContent = answer.detail + (answer.hint ? ". To do: " + answer.hint : "") + ".";
  } catch {
    problem.textContent = "No connection. Try again.";
  }
});
`;

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Pair this device · Agent Mesh</title>
<style>${SMALL_PAGE_STYLE}</style>
</head>
<body>
<header><span>${MARK}Agent Mesh</span></header>
<main>
<h1>Pair this device</h1>
<p>This browser then speaks as the person who made the code, until that person ends it. Continue
only with a code that you made yourself.</p>
<form>
<label for="code">Code</label>
<input id="code" required autocomplete="off" autocapitalize="characters" spellcheck="false"
  maxlength="64" aria-describedby="problem">
<p id="problem" class="bad" role="alert"></p>
<button>Pair this device</button>
</form>
<noscript><p>This page needs JavaScript.</p></noscript>
</main>
<script>${SCRIPT}</script>
</body>
</html>
`;

const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

export function pairPage(): Response {
  const policy = [
    "default-src 'none'",
    `style-src ${hashOf(SMALL_PAGE_STYLE)}`,
    `script-src ${hashOf(SCRIPT)}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return new Response(PAGE, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy.join("; "),
      "cross-origin-opener-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "cache-control": "no-store",
    },
  });
}
