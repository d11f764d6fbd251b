/** Kept drafts and templates: what a browser kept is read again, and rubbish is not trusted. */

import assert from "node:assert/strict";
import {
  EMPTY,
  parseDraft,
  parseTemplates,
  TEMPLATES_MAX,
} from "../../../../dashboard/components/compose/kept.ts";

const FILE = { id: "att-1", filename: "a.png", size: 3, content_type: "image/png" };
const NOW = Date.parse("2026-01-01T12:00:00.000Z");

Deno.test("a kept draft is read with its kind and files, without files that expired", () => {
  const fresh = { ...FILE, expires_at: "2026-01-01T12:00:00.001Z" };
  const old = { ...FILE, expires_at: "2026-01-01T12:00:00.000Z" };
  const draft = { text: "hello", mode: "notify", files: [fresh, old] };
  assert.deepEqual(parseDraft(JSON.stringify(draft), NOW), { ...draft, files: [fresh] });
});

Deno.test("a draft that is no record is the text itself", () => {
  assert.deepEqual(parseDraft("half a thought", NOW), { ...EMPTY, text: "half a thought" });
  assert.deepEqual(parseDraft("{broken", NOW), { ...EMPTY, text: "{broken" });
  assert.deepEqual(parseDraft("", NOW), EMPTY);
});

Deno.test("fields of another form are left out of a draft", () => {
  const kept = { text: 7, mode: "shout", files: [null, {}, { ...FILE, size: "3" }, 1] };
  assert.deepEqual(parseDraft(JSON.stringify(kept), NOW), EMPTY);
  assert.deepEqual(parseDraft('{"files":{}}', NOW), EMPTY);
});

Deno.test("kept templates are read up to their limit, and rubbish is left out", () => {
  const good = { name: "review", text: "Please review." };
  assert.deepEqual(parseTemplates(JSON.stringify([good, null, { name: 1 }, "x"])), [good]);
  assert.deepEqual(parseTemplates("{"), []);
  assert.deepEqual(parseTemplates("{}"), []);
  const many = JSON.stringify(Array(TEMPLATES_MAX + 1).fill(good));
  assert.equal(parseTemplates(many).length, TEMPLATES_MAX);
});
