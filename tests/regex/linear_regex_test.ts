/**
 * Every regular expression of the product takes linear time on any input. One that does not lets a
 * single message stop the process that reads it: 64 kB of blanks took 7 s.
 */

import assert from "node:assert/strict";
import { DIALOG_PATTERN } from "../../daemon/features/agents/screens.ts";
import { toSearch } from "../../daemon/features/messages/log/search_terms.ts";
import { neutralizeMarks } from "protocol/messages/frame_markers.ts";
import { HIDDEN } from "../../kit/core/hidden.ts";
import { dropHidden } from "kit/core/text.ts";
import { tokensOf } from "kit/core/words.ts";
import { patternOf } from "kit/http/serve.ts";
import { uuidKey } from "../../daemon/features/agents/sessions/repeats.ts";
import { growthOf } from "./growth.ts";
import { literals, literalsIn } from "./literals.ts";

/** The expressions that are built at run time, by the file that builds them. */
const COMPOSED: Record<string, () => readonly RegExp[]> = {
  "kit/core/words.ts": () => builtBy(() => tokensOf("é")), // Before the searches, which use it.
  "kit/http/serve.ts": () => [patternOf("/peers/:id/turns/:turn"), patternOf("/files/*")],
  "daemon/features/agents/sessions/repeats.ts": () => builtBy(() => uuidKey("uuid")),
  "daemon/features/agents/screens.ts": () => [new RegExp(DIALOG_PATTERN, "i")],
  "daemon/features/messages/log/search_terms.ts": () =>
    ["a", '"a a a a"', "aaa*", '"a b" "c d"'].flatMap((q) => toSearch(q)?.pattern ?? []),
  "protocol/messages/frame_markers.ts": () => builtBy(() => neutralizeMarks("[")),
  "kit/core/hidden.ts": () => [HIDDEN],
  "kit/core/text.ts": () => builtBy(() => dropHidden("\u200b")),
};

/** The expressions that `work` builds. */
function builtBy(run: () => void): RegExp[] {
  const all: RegExp[] = [], Real = globalThis.RegExp;
  globalThis.RegExp = new Proxy(Real, {
    construct(target, [source, flags]) {
      const regex = new target(source, flags);
      all.push(regex);
      return regex;
    },
  });
  try {
    run();
  } finally {
    globalThis.RegExp = Real;
  }
  assert.ok(all.length > 0, "They are built on first use, and this is the first use");
  return all;
}

/** Not linear, but never given more than a few characters: the pattern, and its bound. */
const BOUNDED: Record<string, string> = {};

/** Expressions that the sources held before, each with the text that it read. */
const BAD = [
  /\s*\n\s*/g, // Every message for a pane.
  /<peer-message [^>]*?id="([a-z]+-[0-9a-f]{12})"[^>]*>[^]*?(?:<\/peer-message>|$)/g, // Prompts.
  /[.\s]+$/u, // File names.
  / +$/, // Rows of a screen.
  /"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|[{}[\]]/gs, // Bodies of POST /ask.
  /\*+$/, // Searches.
  /^-+|-+$/g, // Folder names.
  /^\d*\.?\d+$/, // The environment.
  /^(\w+):? ?(.*)$/, // Lines of an event stream.
  /^(?:a+)+$/, // Not ours: twice the time for each character.
  /^(?:\w|\d)*!/, // The same in another form.
];

Deno.test("every regular expression of the sources takes linear time", async () => {
  const found = literals();
  assert.ok(found.length > 300, "Too few expressions were found in the sources");
  const slow: string[] = [], seen = new Set<string>();
  const measureGrowth = async (at: string, regex: RegExp) => {
    if (seen.has(String(regex)) || String(regex) in BOUNDED) return;
    seen.add(String(regex));
    const grows = await growthOf(regex);
    if (grows) slow.push(`${at}: ${regex}: ${grows}`);
  };
  for (const { at, regex } of found) if (regex) await measureGrowth(at, regex);
  for (const [path, all] of Object.entries(COMPOSED)) {
    for (const regex of all()) await measureGrowth(path, regex);
  }
  const composed = found.filter(({ regex }) => !regex).map(({ at }) => at.replace(/:\d+$/, ""));
  assert.deepEqual([...new Set(composed)].sort(), Object.keys(COMPOSED).sort());
  assert.deepEqual(slow, []);
});

for (const regex of BAD) {
  Deno.test(`a pattern that takes more than linear time is found: ${regex}`, async () => {
    assert.match(await growthOf(regex) ?? "it was not found", /take \d+ ms|take Infinity ms/);
  });
}

Deno.test("expressions are found in literals and in calls, and not in texts", () => {
  const source =
    'const a = /x+$/u, b = new RegExp("y"), c = RegExp(z), d = "/no/";\n// /no/\nf(/w/g);';
  assert.deepEqual(
    literalsIn("a.ts", source).map(({ at, code }) => `${at} ${code}`).sort(),
    [
      "a.ts:1 RegExp(z)",
      "a.ts:1 /x+$/u",
      'a.ts:1 new RegExp("y")',
      "a.ts:3 /w/g",
    ].sort(),
  );
});
