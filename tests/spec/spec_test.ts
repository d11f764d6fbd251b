import assert from "node:assert/strict";
import { REQUIREMENTS } from "./spec.ts";
import { sources } from "../tidy/sources.ts";

/** A test cites ids at the end of its name: `… [3.ask.first-wait-pulls] [8.wait]`. */
const CITATION = / \[(c?\d+\.[a-z0-9.-]+)\](?=(?: \[[a-z0-9.-]+\])*["`])/g;
const DONE: ReadonlySet<string> = new Set(["messages", "built", "jobs", "relay"]);
const IDS = REQUIREMENTS.map(([id]) => id);
/** The test files that cite each id. */
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

Deno.test("each id has one sentence, and each sentence has one id", () => {
  const sentences = REQUIREMENTS.map(([, , sentence]) => sentence);
  assert.deepEqual(IDS.filter((id, at) => IDS.indexOf(id) !== at), []);
  assert.deepEqual(sentences.filter((sentence, at) => sentences.indexOf(sentence) !== at), []);
});

Deno.test("tests cite only known ids", () => {
  const unknown = [...CITED].filter(([id]) => !IDS.includes(id));
  assert.deepEqual(unknown.map(([id, paths]) => `${id} in ${paths.join(", ")}`), []);
});

Deno.test("every requirement of an issue that is done is cited by a test", () => {
  const missing = REQUIREMENTS.filter(([id, issue]) => DONE.has(issue) && !CITED.has(id));
  assert.deepEqual(missing.map(([id, , sentence]) => `${id}: ${sentence}`), []);
});
