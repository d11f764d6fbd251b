/** Codex's screens, as captured from the real program. */

import assert from "node:assert/strict";
import { codexScreen } from "../../../../../daemon/features/agents/codex/codex.ts";

// deno-fmt-ignore
const SCREENS: [name: string, cursor_y: number, dialog: boolean | undefined, empty: boolean | undefined, collapsed: boolean][] = [
  ["empty",              46, false,     true,      false],
  ["busy",               46, false,     true,      false],
  ["draft",              46, false,     false,     false],
  ["draft-two-lines",    46, false,     false,     false],
  ["pasted",             46, false,     false,     true ],
  ["pasted-whole",       46, false,     false,     false],
  ["shell-mode",         46, undefined, undefined, false],
  ["permission",         49, true,      undefined, false],
  ["hooks-review",       47, true,      undefined, false],
  ["starting",           47, false,     true,      false],
  // 0.171.0, whose footer names the session by its first prompt.
  ["titled",             46, false,     true,      false],
  ["sign-draft",         46, false,     false,     false],
  ["slash",              46, false,     false,     false],
  ["files",              46, false,     false,     false],
  ["help",               46, false,     true,      false],
  ["search",             49, undefined, undefined, false],
  ["browsing",           49, undefined, undefined, false],
  ["shell-with-history", 46, undefined, undefined, false],
];

for (const [name, cursor_y, dialog, empty, collapsed] of SCREENS) {
  Deno.test(`Codex's captured screen "${name}" is read correctly`, () => {
    const view = { above: [], lines: screenRows(name), cursor_x: 2, cursor_y };
    assert.equal(codexScreen.dialogOpen(view), dialog);
    assert.equal(codexScreen.composerEmpty(view), empty);
    assert.equal(codexScreen.collapsedPaste?.(view) ?? false, collapsed);
    assert.equal(codexScreen.isStarting?.(view), name === "starting");
  });
}

function screenRows(name: string): string[] {
  const url = new URL(`../../../../golden/screens/codex/${name}.txt`, import.meta.url);
  return Deno.readTextFileSync(url).split("\n");
}

Deno.test("the composer holds the pasted text, over all its rows, and nothing else", () => {
  const args = `[mesh] <peer-message id="ask-1">${"word ".repeat(150)}</peer-message>`;
  const view = { above: [], lines: screenRows("pasted-whole"), cursor_x: 22, cursor_y: 46 };
  assert(codexScreen.composerHolds(view, args));
  assert(!codexScreen.composerHolds(view, args.replace("word", "")));
  const draft = { ...view, lines: screenRows("draft-two-lines") };
  assert(codexScreen.composerHolds(draft, "half a thought\n\nsecond line"));
});

Deno.test("a prompt in the footer or in the conversation is not read as the composer's", () => {
  for (const [name, cursor_y] of SCREENS.slice(SCREENS.findIndex(([name]) => name === "titled"))) {
    const view = { above: [], lines: screenRows(name), cursor_x: 2, cursor_y };
    assert.match(view.lines.join("\n"), /@@SAY ready/, name);
    for (const prompt of ["@@SAY ready", "@@SAY tabbed"]) {
      assert.equal(codexScreen.composerHolds(view, prompt), false, name);
    }
  }
});

Deno.test("a draft whose rows begin with the prompt sign is read whole", () => {
  const view = { above: [], lines: screenRows("sign-draft"), cursor_x: 10, cursor_y: 46 };
  assert(codexScreen.composerHolds(view, "› first\n› second"));
});
