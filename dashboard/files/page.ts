/** The page of the dashboard: an empty frame that loads the dashboard's files. */

import {
  CHARTS,
  ICON,
  IMPORTED,
  LATER,
  MANIFEST_PATH,
  MASKABLE_ICON,
  QR,
  SCRIPT,
  STYLES,
  TERMINAL,
} from "./files.ts";

/**
 * The page loads only files of its own origin. Trusted types prevent scripts from turning text into
 * markup. The one policy of that name returns the address of the service worker.
 */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types mesh-worker",
].join("; ");

const pathOf = (name: string) => `dashboard/assets/${name}`;

const MODULES = Object.entries(LATER).map(([part, names]) =>
  `<meta name="mesh-modules-${part}" content="${names.map(pathOf).join(" ")}">`
).join("\n");

const PRELOADS = IMPORTED.map(({ name }) => `<link rel="modulepreload" href="${pathOf(name)}">`)
  .join("\n");

/** The theme colours are `--bg` of both schemes. */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="color-scheme" content="dark light">
<meta name="theme-color" content="#0e1216" media="(prefers-color-scheme: dark)">
<meta name="theme-color" content="#f6f7f8" media="(prefers-color-scheme: light)">
<title>Agent Mesh</title>
<meta name="mesh-part-terminal" content="dashboard/assets/${TERMINAL.name}">
<meta name="mesh-part-charts" content="dashboard/assets/${CHARTS.name}">
<meta name="mesh-part-qr" content="dashboard/assets/${QR.name}">
${MODULES}
<link rel="icon" href="dashboard/assets/${ICON.name}" type="image/svg+xml">
<link rel="apple-touch-icon" href="dashboard/assets/${MASKABLE_ICON.name}">
<link rel="manifest" href="${MANIFEST_PATH}">
<link rel="stylesheet" href="dashboard/assets/${STYLES.name}">
<script type="module" src="dashboard/assets/${SCRIPT.name}"></script>
${PRELOADS}
</head>
<body>
<div id="app"></div>
<noscript><p>This page needs JavaScript.</p></noscript>
</body>
</html>
`;

/** The page with a new cookie, if one is given. */
export function dashboardPage(cookie?: string): Response {
  const headers = new Headers({
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
  });
  if (cookie !== undefined) headers.set("set-cookie", cookie);
  return new Response(PAGE, { headers });
}
