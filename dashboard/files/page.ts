/** The page of the dashboard: an empty frame that loads the dashboard's files. */

import {
  ICON,
  IMPORTED,
  LATER,
  MANIFEST_PATH,
  MASKABLE_ICON,
  paintedPath,
  QR,
  SCRIPT,
  STYLES,
  TERMINAL,
} from "./files.ts";

const pathOf = (name: string) => `dashboard/assets/${name}`;

const MODULES = Object.entries(LATER).map(([part, names]) =>
  `<meta name="mesh-modules-${part}" content="${names.map(pathOf).join(" ")}">`
).join("\n");

const PRELOADS = IMPORTED.map(({ name }) => `<link rel="modulepreload" href="${pathOf(name)}">`)
  .join("\n");

/**
 * The values of the machine replace the places in braces. The manifest is fetched with the cookie,
 * because only a known browser gets the machine's name.
 */
export const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover, interactive-widget=resizes-content">
<meta name="color-scheme" content="dark light">
<meta name="theme-color" content="{{dark}}" media="(prefers-color-scheme: dark)">
<meta name="theme-color" content="{{light}}" media="(prefers-color-scheme: light)">
<meta name="mesh-machine" content="{{name}}">
<meta name="mesh-colour" content="{{colour}}">
<meta name="apple-mobile-web-app-title" content="{{title}}">
<title>{{title}} · Agent Mesh</title>
<meta name="mesh-part-terminal" content="dashboard/assets/${TERMINAL.name}">
<meta name="mesh-part-qr" content="dashboard/assets/${QR.name}">
${MODULES}
<link rel="icon" href="dashboard/${paintedPath(ICON)}" type="image/svg+xml">
<link rel="apple-touch-icon" href="dashboard/${paintedPath(MASKABLE_ICON)}">
<link rel="manifest" href="${MANIFEST_PATH}" crossorigin="use-credentials">
<link rel="stylesheet" href="dashboard/assets/${STYLES.name}">
<script type="module" async src="dashboard/assets/${SCRIPT.name}"></script>
${PRELOADS}
</head>
<body>
<div id="app"></div>
<noscript><p>This page needs JavaScript.</p></noscript>
</body>
</html>
`;
