/** The rules of `architecture.ts` hold for every source, and each finds its counterexample. */

import assert from "node:assert/strict";
import * as rules from "./architecture.ts";
import type { Outline } from "./architecture.ts";
import * as upward from "./upward.ts";
import { readSource, sources } from "./sources.ts";

const SOURCES = sources();

/** A rule, and files that break it: their paths and texts. */
interface Case {
  readonly name: string;
  readonly rule: (sources: readonly Outline[]) => readonly string[];
  readonly broken: Readonly<Record<string, string>>;
}

const CASES: readonly Case[] = [
  {
    name: "every source lies in a layer or is an entry point",
    rule: rules.outsideLayers,
    broken: { "daemon/loose.ts": "" },
  },
  {
    name: "no loose file lies in tests/",
    rule: rules.outsideLayers,
    broken: { "tests/loose_test.ts": "" },
  },
  {
    name: "imports point down the layers",
    rule: rules.upwardImports,
    broken: {
      "daemon/host/files.ts": 'import { compose } from "../app/compose.ts";\n',
      "daemon/app/compose.ts": "",
    },
  },
  {
    name: "imports point down the order of features",
    rule: rules.upwardImports,
    broken: {
      "daemon/features/peers/peers.ts": 'import { Jobs } from "../jobs/jobs.ts";\n',
      "daemon/features/jobs/jobs.ts": "",
    },
  },
  {
    name: "type imports point down the layers",
    rule: rules.upwardImports,
    broken: {
      "kit/core/text.ts": 'import type { Database } from "kit/data/sqlite.ts";\n',
      "kit/data/sqlite.ts": "",
    },
  },
  {
    name: "lazy imports and imports in JavaScript point down the layers",
    rule: rules.upwardImports,
    broken: {
      "kit/core/text.js": 'const load = () => import("../data/sqlite.ts");\n',
      "kit/data/sqlite.ts": "",
    },
  },
  {
    name: "a program imports no program above it",
    rule: rules.foreignImports,
    broken: { "relay/web/page.ts": 'import { table } from "../../cli/output/table.ts";\n' },
  },
  {
    name: "a program imports only contracts and shared folders of another one",
    rule: rules.foreignImports,
    broken: {
      "relay/web/page.ts": 'import { Asks } from "../../daemon/features/asks/asks.ts";\n',
    },
  },
  {
    name: "there are no import cycles, type imports and lazy imports included",
    rule: rules.cycles,
    broken: {
      "kit/core/a.ts": 'import type { B } from "./b.ts";\n',
      "kit/core/b.ts": 'const a = () => import("./a.ts");\n',
    },
  },
  {
    name: "no feature subscribes to the event log",
    rule: upward.subscribingFeatures,
    broken: { "daemon/features/jobs/fires.ts": "ctx.events.subscribe({ event });\n" },
  },
  {
    name: "composition imports classes, and no function or table of a feature",
    rule: upward.closuresInComposition,
    broken: {
      "daemon/app/compose/peers.ts": 'import * as askRows from "../../features/asks/store.ts";\n',
    },
  },
  {
    name: "each row of the tables of effects and questions reaches a higher feature",
    rule: upward.downwardRows,
    broken: {
      "daemon/app/effects.ts": 'import type { Peers } from "../features/peers/peers.ts";\n' +
        "interface All {\n  readonly peers: Peers;\n}\n" +
        "  readonly jobs: JobEffects = {\n    ended: () => this.peers.close(),\n  };\n",
    },
  },
  {
    name: "a folder holds at most 20 files",
    rule: rules.crowdedFolders,
    broken: Object.fromEntries(
      Array.from({ length: rules.FOLDER_FILES_MAX + 1 }, (_, n) => [`kit/core/${n}.ts`, ""]),
    ),
  },
  {
    name: "a feature is at most two levels deep",
    rule: rules.deepFeatures,
    broken: { "daemon/features/asks/one/two/three/four.ts": "" },
  },
  {
    name: "tests lie where their source lies",
    rule: rules.misplacedTests,
    broken: { "tests/kit/elsewhere/text_test.ts": "", "kit/core/text.ts": "" },
  },
  {
    name: "helpers of tests lie in tests/support",
    rule: rules.misplacedTests,
    broken: { "tests/kit/core/helper.ts": "", "kit/core/text.ts": "" },
  },
];

Deno.test("the rows of both tables are read, with the features that they reach", () => {
  const rows = upward.upwardRows(SOURCES);
  const seen = rows.find(({ from, name }) => from.endsWith("/peers") && name === "seen");
  const reached = ["jobs", "reviews", "spawn"].map((name) => `daemon/features/${name}`);
  assert.deepEqual(seen?.to.toSorted(), reached);
  assert.ok(rows.length > 25, String(rows.length));
});

for (const { name, rule, broken } of CASES) {
  Deno.test(name, () => {
    const example = Object.entries(broken).map(([path, text]) => readSource(path, text));
    assert.equal(rule(example).length, 1);
    assert.deepEqual(rule(SOURCES), []);
  });
}
