/** The API description as an HTML page without scripts, made from the contracts. */

import type { Contract } from "kit/http/contract.ts";
import { toPublicCode } from "kit/core/problem.ts";
import { escapeMarkup } from "kit/core/text.ts";

const CSP = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'none'";

export function docsPage(contracts: readonly Contract[]): Response {
  const rows = contracts.toSorted((a, b) => a.path < b.path ? -1 : 1).map((contract) =>
    `<tr><td>${contract.method}<td><code>${escapeMarkup(contract.path)}</code>` +
    `<td>${escapeMarkup(contract.summary)}<td>${
      (contract.fails ?? []).map(toPublicCode).join(", ")
    }`
  );
  const page = `<!doctype html><html lang="en"><meta charset="utf-8">
<title>Agent Mesh daemon</title><style>
body { font: 15px/1.5 system-ui; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }
:root { color-scheme: light dark } td { padding: .2rem .6rem; vertical-align: top }
</style><h1>Agent Mesh daemon</h1>
<p>The schemas are in <a href="openapi.json">openapi.json</a>.</p>
<table><thead><tr><th>Method<th>Path<th>What it does<th>May refuse</thead>
<tbody>${rows.join("\n")}</table></html>`;
  return new Response(page, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": CSP,
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    },
  });
}
