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

const pathOf = (name: string) => `dashboard/assets/${name}`;

const MODULES = Object.entries(LATER).map(([part, names]) =>
  `<meta name="mesh-modules-${part}" content="${names.map(pathOf).join(" ")}">`
).join("\n");

const PRELOADS = IMPORTED.map(({ name }) => `<link rel="modulepreload" href="${pathOf(name)}">`)
  .join("\n");

/** The theme colours are `--bg` of both schemes. */
export const PAGE = `<!doctype html>
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
