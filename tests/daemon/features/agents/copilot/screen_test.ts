/** Copilot CLI's screens, as captured from the real program. */

import assert from "node:assert/strict";
import { copilotScreen } from "../../../../../daemon/features/agents/copilot/copilot.ts";

function golden(path: string): string {
  return Deno.readTextFileSync(new URL(`../../../../golden/${path}`, import.meta.url));
}

// deno-fmt-ignore
const SCREENS: [name: string, at: [number, number], dialog: boolean | undefined, empty: boolean | undefined][] = [
  ["empty",             [2, 47],   false,     true],
  ["busy",              [2, 47],   false,     true],
  ["draft",             [16, 47],  false,     false],
  ["draft-two-lines",   [7, 47],   false,     false],
  ["pasted",            [23, 47],  false,     false],
  ["long",              [102, 47], false,     false],
  ["slash",             [3, 47],   false,     false],
  ["shell",             [2, 47],   undefined, undefined],
  ["search",            [19, 47],  undefined, undefined],
  ["sidebar",           [51, 47],  undefined, undefined],
  ["help",              [2, 47],   true,      true],
  ["permission",        [159, 49], true,      undefined],
  ["permission-create", [160, 33], true,      undefined],
  ["question",          [160, 38], true,      undefined],
  ["trust",             [7, 4],    true,      undefined],
  ["model",             [107, 49], true,      undefined],
  ["sessions",          [117, 49], true,      undefined],
];

function viewOf(name: string, [cursor_x, cursor_y]: [number, number] = [0, 0]) {
  const lines = golden(`screens/copilot/${name}.txt`).split("\n");
  return { above: [], lines, cursor_x, cursor_y };
}

for (const [name, at, dialog, empty] of SCREENS) {
  Deno.test(`Copilot CLI's captured screen "${name}" is read correctly`, () => {
    const view = viewOf(name, at);
    assert.equal(copilotScreen.dialogOpen(view), dialog);
    assert.equal(copilotScreen.composerEmpty(view), empty);
    assert.equal(copilotScreen.collapsedPaste?.(view), name === "pasted");
  });
}

Deno.test("Copilot CLI's composer holds the pasted text, and shows when more was typed", () => {
  const draft = viewOf("draft-two-lines", [7, 47]);
  assert(copilotScreen.composerHolds(draft, "one two\nthree"));
  assert(!copilotScreen.composerHolds(draft, "zero one two\nthree"));
  const text = `[mesh] ${"word ".repeat(1_630)}`;
  const long = viewOf("long", [102, 47]);
  assert(copilotScreen.composerHolds(long, text), "a long text shows only its end");
  assert(!copilotScreen.composerHolds(long, `${text} and what was typed before it was pasted`));
  assert(!copilotScreen.composerHolds(viewOf("permission"), "touch zz"));
  assert.equal(copilotScreen.composerEmpty(viewOf("empty", [9, 47])), false, "spaces are a draft");
});
