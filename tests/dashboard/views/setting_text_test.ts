/** Settings as text: what is shown of a value, and the command that sets it. */

import assert from "node:assert/strict";
import type { Setting } from "../../../dashboard/state/records.ts";
import { commandText, valueText } from "../../../dashboard/views/setting_text.ts";

function setting(more: Partial<Setting>): Setting {
  const base = { key: "a.b", source: "file", origin: "/x", form: "shown", is_set: true } as const;
  return { ...base, value: null, ...more };
}

// deno-fmt-ignore
const CASES: readonly [why: string, given: Partial<Setting>, value: string, command: string][] = [
  ["a number",               { value: 8377 },                          "8377",       "mesh config set a.b 8377"],
  ["a flag",                 { value: false },                         "false",      "mesh config set a.b false"],
  ["a text with a space",    { value: "two words" },                   "two words",  "mesh config set a.b 'two words'"],
  ["a text with a quote",    { value: "it's" },                        "it's",       "mesh config set a.b 'it'\\''s'"],
  ["a text for a shell",     { value: "$(reboot)" },                   "$(reboot)",  "mesh config set a.b '$(reboot)'"],
  ["a list",                 { value: ["/a", "/b"] },                  "/a, /b",     "mesh config set a.b '/a, /b'"],
  ["a list of odd words",    { value: ["a, b", "*"] },                 "a, b, *",    `mesh config set a.b '["a, b","*"]'`],
  ["an empty list",          { value: [] },                            "none",       "mesh config set a.b '[]'"],
  ["nothing",                { is_set: false },                        "not set",    "mesh config set a.b VALUE"],
  ["a secret",               { form: "hidden" },                       "set",        "mesh config set a.b -"],
  ["no secret",              { form: "hidden", is_set: false },        "not set",    "mesh config set a.b -"],
  ["names of a map",         { form: "names", value: ["A", "B"] },     "set: A, B",  "mesh config set a.b -"],
];
for (const [why, given, value, command] of CASES) {
  Deno.test(`${why} is shown as ${value}, and set by a line that a shell reads as one value`, () => {
    assert.deepEqual([valueText(setting(given)), commandText(setting(given))], [value, command]);
  });
}
