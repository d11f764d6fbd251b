/**
 * Runs foreign OAuth and MCP clients against a relay, and prints what works with each: login,
 * tools, refresh, revocation, and a login for reading only.
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readTaskArgs } from "../runner/task_args.ts";
import { OAuthRelay } from "../support/e2e/oauth_lab.ts";
import { AGENT_APPS } from "./agents.ts";
import { agentApp, type App, APPS } from "./clients.ts";
import { type Outcome, runApp, STEPS } from "./session.ts";

const PAGE = fileURLToPath(new URL("../../docs/apps.md", import.meta.url));
const HEADER = ["client", "packages", ...STEPS];
const print = (text: string) => void Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));

const args = readTaskArgs({
  task: "apps",
  summary: "Runs foreign OAuth and MCP clients, and agents, at a relay; prints what works",
  words: { name: "NAME" },
  options: { "--write": "write the table into docs/apps.md" },
});
const wanted = [...APPS, ...AGENT_APPS.map(agentApp)].filter(({ name }) =>
  args.words.length === 0 || args.words.some((text) => name.includes(text))
);
const dir = Deno.makeTempDirSync({ prefix: "mesh-apps-" });
const rows: string[][] = [];
let isSound = true;
try {
  for (const [at, app] of wanted.entries()) {
    rows.push(rowOf(app, await tryApp(app, join(dir, `${at}`))));
  }
} finally {
  Deno.removeSync(dir, { recursive: true });
}
const table = toTable([HEADER, ...rows]);
print(`\n${table}`);
if (args.flag("write")) {
  const text = Deno.readTextFileSync(PAGE).replace(/^\| client [^]*?\n(?=\n|$)/m, `${table}\n`);
  Deno.writeTextFileSync(PAGE, text);
}
Deno.exitCode = isSound ? 0 : 1;

async function tryApp({ name, packages, install }: App, dir: string): Promise<Outcome | string> {
  const installed = install(dir, packages);
  if ("skipped" in installed) {
    print(`skipped: ${name}: ${installed.skipped}`);
    return "skipped";
  }
  await using relay = await OAuthRelay.start();
  const outcome = await runApp(relay, installed);
  for (const step of STEPS) print(`${name}: ${step}: ${outcome.get(step) ?? "not reached"}`);
  isSound &&= STEPS.every((step) => outcome.get(step) === "ok");
  return outcome;
}

function rowOf({ name, packages }: App, outcome: Outcome | string): string[] {
  const cells = STEPS.map((step) =>
    typeof outcome === "string" ? outcome : outcome.get(step) === "ok" ? "yes" : "no"
  );
  return [name, packages.join(", "), ...cells];
}

function toTable([header = [], ...rows]: readonly string[][]): string {
  const widths = header.map((_, at) =>
    Math.max(...[header, ...rows].map((row) => row[at]?.length ?? 0))
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [line(header), rule, ...rows.map(line)].join("\n");
}
