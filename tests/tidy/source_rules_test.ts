/** The rules of `source_rules.ts` hold for every source, and each finds its counterexamples. */

import assert from "node:assert/strict";
import { EVENTS } from "protocol/events.ts";
import { PROBLEMS } from "protocol/problems.ts";
import { migrations } from "../../daemon/app/migrations/migrations.ts";
import { relayMigrations } from "../../relay/app/database.ts";
import { world } from "../support/world.ts";
import { isContract } from "../golden_files/endpoints.ts";
import * as rules from "./source_rules.ts";
import { readSource, type Source, sources } from "./sources.ts";

const SOURCES = sources();
const ROOT = new URL("../../", import.meta.url);

/** A rule, and groups of files that break it once each: their paths and texts. */
interface Case {
  readonly name: string;
  readonly rule: (sources: readonly Source[], named?: readonly string[]) => readonly string[];
  /** The tables, events or codes of the counterexamples; the repository's own by default. */
  readonly named?: readonly string[];
  readonly broken: readonly Readonly<Record<string, string>>[];
}

/** The files that start programs themselves, and why. */
const STARTING: Readonly<Record<string, string>> = {
  "daemon/host/program_group.ts": "it is where programs are started",
  "daemon/host/processes.ts": "ps and pgrep start nothing, and the facts are read at once",
  "daemon/host/sockets/caller_facts.ts":
    "the caller waits; `timeout` ends tmux, which starts nothing",
  "daemon/host/tmux/connection.ts": "a client of tmux ends with its pipe and starts nothing",
  "daemon/host/tmux/terminals.ts": "a tmux server that it starts outlives the daemon",
  "daemon/features/agents/opencode/plugin/main.ts": "it runs in opencode; ps starts nothing",
  "cli/client/daemon_process.ts": "the daemon, or a server of machines, outlives the command",
  "cli/client/editor.ts": "an editor, or a client of tmux or kitty, in the foreground",
  "cli/client/isolated_env.ts": "a private tmux server, which its mesh ends by name",
  "cli/commands/daemon/open.ts": "the browser outlives the command",
  "cli/commands/run/pane.ts": "the person's agent, in the foreground of their terminal",
  "tools/demo/harness.ts": "a daemon and a tmux server, which `stop` ends by name",
  "tools/selftest/harness.ts": "a daemon and a tmux server, which the harness ends by name",
};

const WIDE = `const a = ${"b + ".repeat(30)}b;\n`;

const CASES: readonly Case[] = [
  {
    name: "a line has at most 100 columns",
    rule: rules.wideLines,
    broken: [
      { "kit/core/wide.ts": WIDE },
      { "kit/core/wide.ts": `// deno-fmt-ignore\nconst table = [\n];\n${WIDE}` },
      { "tests/kit/core/wide_test.ts": `/** ${"A comment. ".repeat(10)}*/` },
    ],
  },
  {
    name: "the first line of a file says what it holds",
    rule: rules.missingHeaders,
    broken: [
      { "kit/core/a.ts": "export const a = 1;\n" },
      { "tests/support/a.ts": "/** Short */\n" },
      { "kit/core/a.ts": "/**\n * Short\n */\n" },
    ],
  },
  {
    name: "a program is started where it ends with all that it started",
    rule: (sources) => rules.startedPrograms(sources, STARTING),
    broken: [
      { "cli/commands/a.ts": 'new Deno.Command("a").output();\n' },
      { "kit/core/a.ts": 'import { spawn } from "node:child_process";\n' },
      { "cli/client/editor.ts": "// It starts no program any more.\n" },
    ],
  },
  {
    name: "there are no barrels and no star exports",
    rule: rules.barrels,
    broken: [{ "kit/core/mod.ts": "" }, { "kit/core/index.tsx": "" }, {
      "kit/core/a.ts": 'export * from "./b.ts";\n',
    }],
  },
  {
    name: "an exported value is used by another file",
    rule: rules.unusedExports,
    broken: [
      { "kit/core/a.ts": "export const alone = 1;\nconst b = alone;\n" },
      { "kit/core/a.ts": "export async function alone() {}\n", "kit/core/b.ts": "// alone\n" },
    ],
  },
  {
    name: "a secret is compared in constant time",
    rule: rules.comparedSecrets,
    broken: [
      { "kit/core/a.ts": "if (auth_token === given) return;\n" },
      { "kit/core/a.ts": "if (given !== this.secret) return;\n" },
    ],
  },
  {
    name: "there is no unfinished work and no call of the console",
    rule: rules.leftovers,
    broken: [{ "kit/core/a.ts": "// TODO: finish\n" }, { "kit/core/a.ts": "console.log(a);\n" }],
  },
  {
    name: "contracts are safe in a browser, with all that they load",
    rule: rules.unsafeContracts,
    broken: [
      { "protocol/a.ts": "const env = Deno.env;\n" },
      { "protocol/a.ts": 'import { join } from "node:path";\n' },
      {
        "protocol/a.ts": 'import { b } from "kit/core/b.ts";\n',
        "kit/core/b.ts": "process.exit();\n",
      },
    ],
  },
  {
    name: "a hook and a common command load no package and no module of Node's",
    rule: rules.slowStarts,
    broken: [
      { "main.ts": 'import { z } from "zod";\n' },
      { "cli/commands/peer_list.ts": 'import { z } from "zod";\n' },
      {
        "cli.ts": 'import { a } from "./cli/a.ts";\n',
        "cli/a.ts": 'import { z } from "zod";\n',
      },
      {
        "cli/programs/hook.ts": 'import { a } from "./a.ts";\n',
        "cli/programs/a.ts": 'import { join } from "node:path";\n',
      },
    ],
  },
  {
    name: "a start of the daemon loads no dashboard, no bus, and no module of Node's but SQLite",
    rule: rules.slowDaemonStarts,
    broken: [
      { "daemon/app/main.ts": 'import { createHash } from "node:crypto";\n' },
      { "daemon/features/agents/codex/codex.ts": 'import { openSync } from "node:fs";\n' },
      {
        "daemon/app/main.ts": 'import { a } from "./a.ts";\n',
        "daemon/app/a.ts": 'import { FILES } from "../../dashboard/files/files.ts";\n',
      },
      { "daemon/app/main.ts": 'import { Kvm } from "@nats-io/kv";\n' },
      { "daemon/app/main.ts": 'import { openNatsBus } from "../host/nats/nats_bus.ts";\n' },
      { "daemon/app/main.ts": 'import { Links } from "../features/machines/links/links.ts";\n' },
    ],
  },
  {
    name: "each table is written in exactly one file",
    rule: (sources, named = [...migrations, ...relayMigrations]) =>
      rules.sharedTables(sources, named),
    named: ["create table asks (id text) strict;"],
    broken: [
      { "daemon/a.ts": "`select * from asks`;\n" },
      { "daemon/a.ts": "`insert into asks values (1)`;\n", "daemon/b.ts": "`delete from asks`;\n" },
    ],
  },
  {
    name: "every event of the table is published",
    rule: (sources, named = Object.keys(EVENTS)) => rules.unpublishedEvents(sources, named),
    named: ["ask"],
    broken: [{ "daemon/a.ts": 'events.append("notify", {});\n' }],
  },
  {
    name: "every problem of the table is thrown",
    rule: (sources, named = Object.keys(PROBLEMS)) => rules.unthrownProblems(sources, named),
    named: ["unknown_peer"],
    broken: [{ "daemon/a.ts": 'throw new Problem("unknown_ask");\n' }],
  },
  {
    name: "a problem that a feature throws is listed by a contract, or any route may return it",
    rule: rules.unlistedProblems,
    broken: [{
      "daemon/features/a/a.ts": 'throw new Problem("unknown_a");\nthrow new Problem("internal");\n',
      "protocol/a.ts": 'const fails = ["unknown_b"];\n',
    }],
  },
];

for (const { name, rule, named, broken } of CASES) {
  Deno.test(name, () => {
    for (const files of broken) {
      const example = Object.entries(files).map(([path, text]) => readSource(path, text));
      assert.equal(rule(example, named).length, 1, JSON.stringify(files));
    }
    assert.deepEqual(rule(SOURCES), []);
  });
}

Deno.test("a wide line may be a string, or a row of an aligned table", () => {
  const table = `// deno-fmt-ignore\nconst table = [\n  ${WIDE}];\n`;
  const text = `const text = "${"word ".repeat(30)}";\n`;
  assert.deepEqual(rules.wideLines([readSource("kit/core/a.ts", table + text)]), []);
});

Deno.test("the sources of every program and of the tests are read", () => {
  const paths = new Set(SOURCES.map(({ path }) => path));
  for (
    const path of [
      "main.ts",
      "kit/data/sqlite.ts",
      "daemon/features/asks/asks.ts",
      "relay/app/main.ts",
      "cli/programs/hook.ts",
      "tests/support/world.ts",
    ]
  ) {
    assert.ok(paths.has(path), path);
  }
});

Deno.test("every contract of the daemon is served, and one with a body lists its problems", async () => {
  await using w = world();
  const served = new Set(w.daemon.routes.map(({ contract }) => contract));
  const paths = SOURCES.map(({ path }) => path)
    .filter((path) => path.startsWith("protocol/") && !path.startsWith("protocol/relay/"));
  const modules: Record<string, unknown>[] = await Promise.all(
    paths.map((path) => import(new URL(path, ROOT).href)),
  );
  const contracts = modules.flatMap((exported) => Object.values(exported).filter(isContract));
  assert.ok(contracts.length > 50);
  assert.deepEqual(rules.incompleteContracts(contracts, served), []);
  const example = { id: "asks.open", body: contracts.find(({ body }) => body)?.body };
  assert.deepEqual(rules.incompleteContracts([example as never], new Set()), [
    "asks.open has no route",
    "asks.open lists no problems",
  ]);
});
