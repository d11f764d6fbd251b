/** Changing JSON in its text: what is written, and that nothing else changes. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  hooks as meshHooks,
  server,
} from "../../../../../daemon/features/agents/claude_code/setup.ts";
import { applyEdit, type Edit } from "../../../../../daemon/features/agents/install.ts";
import { planOf } from "../../../../support/agents/setup_plan.ts";
import type { JsonObject } from "../../../../../daemon/features/agents/settings_files/json.ts";
import {
  parseJson,
  patchJson,
} from "../../../../../daemon/features/agents/settings_files/json_patch.ts";

const PLAN = planOf(["/opt/mesh"]);

/** Adds a member, or an element to the list `list`. */
function addMember(text: string): string {
  const before = parseJson(text);
  const list = before["list"];
  const next = Array.isArray(list)
    ? { ...before, list: [...list, "ours"] }
    : { ...before, ours: { a: 1 } };
  return patchJson(text, next);
}

// deno-fmt-ignore
const ADDITIONS = [
  ["beside members on lines",       '{\n  "a": 1.0\n}\n',               '{\n  "a": 1.0,\n  "ours": {\n    "a": 1\n  }\n}\n'],
  ["with the file's tabs and CRLF", '{\r\n\t"a": "caf\\u00e9"\r\n}',    '{\r\n\t"a": "caf\\u00e9",\r\n\t"ours": {\r\n\t\t"a": 1\r\n\t}\r\n}'],
  ["in one line",                   '{ "a": 1e3 }',                     '{ "a": 1e3, "ours": {"a":1} }'],
  ["without blanks",                '{"a":1}',                          '{"a":1,"ours": {"a":1}}'],
  ["after a comment of the line",   '{\n  "a": 1 // one\n  // end\n}',  '{\n  "a": 1, // one\n  "ours": {\n    "a": 1\n  }\n  // end\n}'],
  ["before a trailing comma",       '{\n  "a": 1, // one\n}',           '{\n  "a": 1, // one\n  "ours": {\n    "a": 1\n  },\n}'],
  ["to an empty object",            "{}\n",                             '{\n  "ours": {\n    "a": 1\n  }\n}\n'],
  ["to an object with a comment",   "{ // none\n}\n",                   '{ // none\n  "ours": {\n    "a": 1\n  }\n}\n'],
  ["to a list",                     '{\n  "list": [\n    1\n  ]\n}',    '{\n  "list": [\n    1,\n    "ours"\n  ]\n}'],
  ["to an empty list",              '{\n  "list": []\n}',               '{\n  "list": [\n    "ours"\n  ]\n}'],
] as const;

for (const [name, before, after] of ADDITIONS) {
  Deno.test(`JSON is added ${name}`, () => assert.equal(addMember(before), after));
}

Deno.test("a value is replaced where it stands, and a member is removed with its comma", () => {
  const text = '{\n  "a": 1, // one\n  /* two */ "b": [1, {"x": 1}, 3],\n  "c": null // last\n}\n';
  const next = { a: 2, b: [1, { x: 2 }, 3] };
  const expected = '{\n  "a": 2, // one\n  /* two */ "b": [1, {"x": 2}, 3] // last\n}\n';
  assert.equal(patchJson(text, next), expected);
});

Deno.test("the line break after a comment stays when the member behind it is removed", () => {
  assert.equal(patchJson('{ // one\n  "a": 1, "b": 2 }', { b: 2 }), '{ // one\n   "b": 2 }');
});

const blank = fc.constantFrom("", " ", "\n", "\n  ", "\t", "\r\n\t");
const comment = fc.constantFrom("", "", "", "/* c */", "// c\n", "\n  // c\n  ");
const trivia = fc.tuple(blank, comment, blank).map((parts) => parts.join(""));
const scalar = fc.constantFrom(
  "1",
  "1.0",
  "1e3",
  "null",
  '"x"',
  '"// x"',
  '"caf\\u00e9"',
  "[ ]",
  "{\n}",
);

/** A container's text with any layout, comments and perhaps a trailing comma. */
function container([open, close]: readonly [string, string], items: fc.Arbitrary<string[]>) {
  return fc.record({
    items,
    gaps: fc.array(trivia, { minLength: 9, maxLength: 9 }),
    last: fc.boolean(),
  })
    .map(({ items, gaps, last }) => {
      const written = items.map((item, at) => `${gaps[at]}${item}${gaps[at + 4]}`).join(",");
      return `${open}${written}${last && items.length > 0 ? "," : ""}${gaps[8]}${close}`;
    });
}

const list = container(["[", "]"], fc.array(scalar, { maxLength: 3 }));
const group = container(["{", "}"], fc.constantFrom([], ['"hooks": []'], ['"matcher": "x"']));
const groups = container(["[", "]"], fc.array(group, { maxLength: 2 }));
const hooks = container(
  ["{", "}"],
  fc.subarray(['"Stop": ', '"SessionStart": ', '"PreToolUse": ']).chain((keys) =>
    fc.tuple(...keys.map((key) => groups.map((text) => key + text)))
  ),
);
const servers = container(["{", "}"], fc.constantFrom([], ['"other": { "command": "x" }']));
const settings = container(
  ["{", "}"],
  fc.tuple(list, hooks, servers, scalar).chain(([list, hooks, servers, scalar]) =>
    fc.shuffledSubarray([
      `"list": ${list}`,
      `"hooks": ${hooks}`,
      `"mcpServers": ${servers}`,
      `"x": ${scalar}`,
    ])
  ),
);

const install = (json: JsonObject) => server.install(meshHooks.install(json, PLAN), PLAN);
const remove = (json: JsonObject) => server.remove(meshHooks.remove(json, PLAN), PLAN);

/** Installs, lets the user edit, and uninstalls; returns the file's text at the end. */
function roundTrip(text: string, edit: (text: string) => string): string {
  const folder = Deno.makeTempDirSync({ prefix: "mesh-patch-" });
  const path = `${folder}/settings.json`;
  try {
    Deno.writeTextFileSync(path, text);
    const edits: Edit = { path, format: "json", add: install, remove };
    applyEdit(edits, { undo: false });
    Deno.writeTextFileSync(path, edit(Deno.readTextFileSync(path)));
    applyEdit(edits, { undo: true });
    return Deno.readTextFileSync(path);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

Deno.test("the line break after a comment stays when all members behind it are removed", () => {
  const text = '{ // mine\n"a": 1,\n"b": 2}';
  assert.equal(parseJson(patchJson(text, {}))["a"], undefined);
  assert.equal(parseJson(patchJson(text, { b: 2 }))["b"], 2);
});

Deno.test("any settings are restored byte for byte", () => {
  fc.assert(fc.property(settings, (text) => assert.equal(roundTrip(text, (same) => same), text)));
});

Deno.test("any settings are restored byte for byte around an edit of the user", () => {
  const end = "\n// mine, too\n";
  const edit = (text: string) => `// mine\n${text}${end}`;
  fc.assert(fc.property(settings, (text) => assert.equal(roundTrip(text, edit), edit(text))));
});

Deno.test("a member that the user adds or removes meanwhile changes nothing else", () => {
  const text = '{\n    "model": "opus", // mine\n    "hooks": { "Stop": [ ] },\n    "n": 1.0\n}';
  const edit = (text: string) => text.replace('"n": 1.0', '"n": 1.0,\n    "theme": "dark"');
  assert.equal(roundTrip(text, edit), edit(text));
  const without = (text: string) => text.replace('"model": "opus", // mine', "// mine");
  assert.equal(roundTrip(text, without), without(text));
});
