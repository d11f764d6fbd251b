/** The API reference as an HTML page without scripts, made from the API description. */

import type { Contract } from "kit/http/contract.ts";
import { UNCACHED_HEADERS } from "kit/core/problem.ts";
import { toPublicCode } from "protocol/problems.ts";
import { escapeMarkup } from "kit/core/text.ts";
import { describedPath, type openapi } from "kit/http/openapi.ts";
import { QUERIES } from "./samples.ts";
import { tagOf, TAGS } from "./api_info.ts";

const HEADERS = {
  ...UNCACHED_HEADERS,
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'",
};

type Document = ReturnType<typeof openapi>;

interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly $ref?: string;
  readonly description?: string | undefined;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

interface Operation {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly description?: string;
    readonly schema: Schema;
    readonly example?: unknown;
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}
type Content = Readonly<
  Record<string, { readonly schema: Schema; readonly example?: unknown }>
>;

/** Callers of each kind of access, in words. */
const ACCESS = {
  public: "everybody",
  user: "programs of your user",
  caller: "holders of the token, and the dashboard",
  token: "holders of the token",
  checked: "everybody; the route checks a token of its own",
  code:
    "holders of the token, the dashboard, and everybody while a one-time code waits for a device",
} as const;

/** Fields of objects within objects are shown down to here. */
const DEPTH_MAX = 3;

export function docsPage(
  document: Document,
  contracts: readonly Contract[],
  origin: string,
): Response {
  const routesOf = (tag: string) => contracts.filter(({ id }) => tagOf(id) === tag);
  const contents = TAGS.map(({ name }) => {
    const links = routesOf(name).map((contract) => {
      const { id, method } = contract;
      return `<li><a href="#${id}"><b>${method}</b> ${escapeMarkup(describedPath(contract))}</a>`;
    });
    return `<details><summary>${name}</summary><ul>${links.join("")}</ul></details>`;
  });
  const sections = TAGS.map(({ name, description }) => {
    const routes = routesOf(name).map((contract) => renderRoute(contract, document, origin));
    const about = `<p>${escapeMarkup(description)}</p>`;
    return `<section>${heading(name.toLowerCase(), name)}${about}${routes.join("\n")}</section>`;
  });
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) =>
    `<article id="schema-${name}"><h3><a href="#schema-${name}">${name}</a></h3>${
      renderSchema(schema as Schema)
    }</article>`
  );
  const address = escapeMarkup(origin);
  return new Response(
    `<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Agent Mesh API</title><style>${STYLES}</style>
<nav aria-label="Routes"><p><b>Agent Mesh API</b></p>${contents.join("\n")}
<p><a href="#schemas">Schemas</a></p></nav>
<main><h1>Agent Mesh API</h1><p>${withCode(document.info.description)}</p>
<p>The daemon answers at <code>${address}</code>. Commands below are for a terminal. If a token is
configured, put it into the environment first, and add the header to each command:</p>
<pre><code>export MESH_TOKEN=$(mesh token)
curl -H "Authorization: Bearer $MESH_TOKEN" ${address}/peers</code></pre>
<p>The same as OpenAPI: <code>mesh docs --openapi</code>.</p>
${sections.join("\n")}
<section>${heading("schemas", "Schemas")}${schemas.join("\n")}</section></main></html>`,
    { headers: HEADERS },
  );
}

function heading(id: string, text: string): string {
  return `<h2 id="${id}"><a href="#${id}">${text}</a></h2>`;
}

function renderRoute(contract: Contract, document: Document, origin: string): string {
  const { id, method, summary, access, fails = [] } = contract;
  const path = describedPath(contract);
  const operation = document.paths[path]?.[method.toLowerCase()] as Operation;
  const { parameters = [], requestBody } = operation;
  const json = operation.responses["200"]?.content?.["application/json"];
  const body = requestBody?.content["application/json"];
  const query: Schema = {
    properties: Object.fromEntries(
      parameters.map(({ name, description, schema }) => [name, { description, ...schema }]),
    ),
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
  };
  const part = (title: string, schema: Schema) => `<h4>${title}</h4>${renderSchema(schema)}`;
  const refusals = fails.map((code) => `<code>${toPublicCode(code)}</code>`).join(", ");
  return `<article id="${id}"><h3><a href="#${id}"><b>${method}</b> ${escapeMarkup(path)}</a></h3>
<p>${withCode(summary)}. Open to ${ACCESS[access]}.</p>
<pre><code>${escapeMarkup(curlLine(contract, operation, origin))}</code></pre>
${parameters.length > 0 ? part("Parameters", query) : ""}
${body ? part("Body", body.schema) : ""}
${json ? part("Answer", json.schema) + exampleOf(json.example) : ""}${
    refusals ? `<p>May refuse with ${refusals}.</p>` : ""
  }</article>`;
}

function exampleOf(example: unknown): string {
  return `<details><summary>Example</summary><pre><code>${
    escapeMarkup(JSON.stringify(example, null, 2))
  }</code></pre></details>`;
}

/** A command that calls the route with the example of its request. */
function curlLine(contract: Contract, operation: Operation, origin: string): string {
  const { id, method, bodyType } = contract;
  const shown = QUERIES[id] ?? [];
  let path = describedPath(contract);
  const query: string[] = [];
  for (const { name, in: place, required, example } of operation.parameters ?? []) {
    const value = encodeURIComponent(String(example));
    if (place === "path") path = path.replace(`{${name}}`, value);
    else if (place === "query" && (required || shown.includes(name))) {
      query.push(`${name}=${value}`);
    }
  }
  const body = operation.requestBody?.content["application/json"]?.example;
  const address = origin + path + (query.length > 0 ? `?${query.join("&")}` : "");
  const words = [
    "curl",
    ...(method === "GET" || (method === "POST" && (body ?? bodyType)) ? [] : [`-X ${method}`]),
    ...(bodyType ? ["-F file=@FILE"] : []),
    quote(address),
    ...(body === undefined ? [] : [`\\\n  -d ${quote(JSON.stringify(body))}`]),
  ];
  return words.join(" ");
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Marks text in backticks as code. */
function withCode(text: string): string {
  return escapeMarkup(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>");
}

/** The fields of an object, one per row; any other schema in one line. */
function renderSchema(schema: Schema): string {
  const rows = rowsOf(schema, "", 0);
  if (rows === "") return `<p>${typeOf(schema)}</p>`;
  return `<table><thead><tr><th>Field<th>Type<th>Meaning</thead><tbody>${rows}</tbody></table>`;
}

function rowsOf({ properties = {}, required = [] }: Schema, prefix: string, depth: number): string {
  return Object.entries(properties).map(([name, field]) => {
    const inner = field.items?.properties ? field.items : field;
    const nested = depth < DEPTH_MAX
      ? rowsOf(inner, `${prefix}${name}${inner === field ? "." : "[]."}`, depth + 1)
      : "";
    const optional = required.includes(name) ? "" : " <i>optional</i>";
    const fallback = field.default === undefined ? "" : ` By default ${toCode(field.default)}.`;
    return `<tr><td><code>${escapeMarkup(prefix + name)}</code>${optional}<td>${typeOf(field)}` +
      `<td>${withCode(field.description ?? "")}${fallback}\n${nested}`;
  }).join("");
}

function typeOf(schema: Schema): string {
  const { type, const: value, enum: values, anyOf, oneOf = anyOf, items, $ref } = schema;
  if ($ref) {
    const name = escapeMarkup($ref.slice($ref.lastIndexOf("/") + 1));
    return `<a href="#schema-${name}">${name}</a>`;
  }
  if (value !== undefined) return toCode(value);
  if (values) return values.map(toCode).join(", ");
  if (oneOf) return [...new Set(oneOf.map(typeOf))].join(" or ");
  if (type === "array") return `list of ${items ? typeOf(items) : "values"}`;
  return escapeMarkup(typeof type === "string" ? type : type?.join(" or ") ?? "any value");
}

function toCode(literal: unknown): string {
  return `<code>${escapeMarkup(JSON.stringify(literal))}</code>`;
}

/** Dark and light, wide and narrow. */
const STYLES = `
:root { color-scheme: light dark; --line: light-dark(#d8dce2, #3a3f47);
  --soft: light-dark(#f3f5f8, #1f2329); --link: light-dark(#0a58ad, #7db8ff);
  --muted: light-dark(#57606a, #a3acb8) }
* { box-sizing: border-box }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; overflow-wrap: break-word }
a { color: var(--link); text-decoration: none } a:hover { text-decoration: underline }
nav { padding: 1rem; border-bottom: 1px solid var(--line); font-size: .875rem }
nav ul { list-style: none; margin: 0 0 .5rem; padding: 0 0 0 1rem }
nav summary { cursor: pointer; padding: .2rem 0 } nav b { font-weight: 600 }
main { padding: 1rem; max-width: 62rem; min-width: 0 }
h1 { font-size: 1.6rem; margin: .5rem 0 } h2 { font-size: 1.3rem; margin: 3rem 0 .5rem }
h3 { font-size: 1rem; font-family: ui-monospace, monospace; margin: 0 } h4 { margin: 1rem 0 .3rem }
h2 a, h3 a { color: inherit }
article { border-top: 1px solid var(--line); padding: 1.2rem 0; scroll-margin-top: .5rem }
article:target { border-left: 3px solid var(--link); padding-left: .8rem }
code, pre { font-family: ui-monospace, monospace; font-size: .85em }
pre { background: var(--soft); padding: .8rem; border-radius: .4rem; overflow-x: auto }
table { display: block; overflow-x: auto; border-collapse: collapse; font-size: .875rem }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; min-width: 7rem;
  border-top: 1px solid var(--line) }
th, i { color: var(--muted); font-weight: 400 } details summary { cursor: pointer }
@media (min-width: 64rem) {
  nav { position: fixed; inset: 0 auto 0 0; width: 19rem; overflow-y: auto; border-bottom: 0;
    border-right: 1px solid var(--line) }
  main { margin-left: 19rem; padding: 1rem 2rem }
}
`;
