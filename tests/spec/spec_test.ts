import assert from "node:assert/strict";
import { REQUIREMENTS } from "./spec.ts";
import { sources } from "../tidy/sources.ts";

/** A test cites at the end of its name: `… [3.ask.first-wait-pulls] [8.wait]`. */
const CITATION = / \[(c?\d+\.[a-z0-9.-]+)\](?=(?: \[[a-z0-9.-]+\])*["`])/g;
const DUE: ReadonlySet<string> = new Set(["messages", "built", "jobs", "relay"]);
const IDS = REQUIREMENTS.map(([id]) => id);
/** Which test files cite each id. */
const CITED = citations();

function citations(): ReadonlyMap<string, readonly string[]> {
  const cited = new Map<string, string[]>();
  for (const { path, text } of sources()) {
    if (!path.endsWith("_test.ts")) continue;
    for (const [, id = ""] of text.matchAll(CITATION)) {
      cited.getOrInsertComputed(id, () => []).push(path);
    }
  }
  return cited;
}

Deno.test("each id stands for one sentence, and each sentence has one id", () => {
  const sentences = REQUIREMENTS.map(([, , sentence]) => sentence);
  assert.deepEqual(IDS.filter((id, at) => IDS.indexOf(id) !== at), []);
  assert.deepEqual(sentences.filter((said, at) => sentences.indexOf(said) !== at), []);
});

Deno.test("a test cites only what there is", () => {
  const unknown = [...CITED].filter(([id]) => !IDS.includes(id));
  assert.deepEqual(unknown.map(([id, paths]) => `${id} in ${paths.join(", ")}`), []);
});

Deno.test("every sentence that is due is cited by a test", () => {
  const missing = REQUIREMENTS.filter(([id, issue]) => DUE.has(issue) && !CITED.has(id));
  assert.deepEqual(missing.map(([id, , sentence]) => `${id}: ${sentence}`), []);
});
