/** Composers of programs that hide the terminal's cursor and draw their own, such as Qwen Code. */

import assert from "node:assert/strict";
import { genericScreen } from "../../../../../daemon/features/agents/generic/generic.ts";
import type { View } from "../../../../../daemon/features/agents/screens.ts";

const RULE = `\x1b[38;5;153m${"─".repeat(60)}`;
const HINT = "\x1b[39m  \x1b[38;5;103m? for shortcuts";
const DRAWN = "\x1b[38;5;183m> ";

/** The composer of Qwen Code 0.15.10, whose hidden cursor rests below it. */
function qwen(...composer: string[]): View {
  const lines = [" ❯ an earlier prompt", "", RULE, ...composer, RULE, HINT, "", ""];
  return { above: [], lines, cursor_x: 0, cursor_y: lines.length - 2 };
}

// deno-fmt-ignore
const DRAWN_COMPOSERS: readonly [what: string, rows: string[], empty: boolean][] = [
  ["a coloured placeholder behind the cursor", [`${DRAWN}\x1b[7m\x1b[39m \x1b[0m\x1b[38;5;103m\x1b[49m Type your message or @path/to/file`], true],
  ["a faint placeholder below the cursor",     [`${DRAWN}\x1b[7m \x1b[0m\x1b[2mAsk anything\x1b[0m`], true],
  ["nothing",                                  [`${DRAWN}\x1b[7m\x1b[39m \x1b[0m`], true],
  ["a draft",                                  [`${DRAWN}\x1b[39mhello\x1b[7m \u200b`], false],
  ["a draft with the cursor at its start",     [`${DRAWN}\x1b[7m\x1b[39mh\x1b[0m\x1b[39m\x1b[49mello`], false],
  ["a draft of one letter under the cursor",   [`${DRAWN}\x1b[7m\x1b[39mh\x1b[0m`], false],
  ["a draft with a suggestion behind it",      [`${DRAWN}\x1b[39mhel\x1b[7m \x1b[0m\x1b[38;5;103mlo there`], false],
  ["a draft of two lines",                     [`${DRAWN}\x1b[39mhello this wraps`, "  over the width\x1b[7m \u200b"], false],
  ["a draft of two lines, the second empty",   [`${DRAWN}\x1b[39mhello`, "  \x1b[7m \u200b"], false],
];

for (const [what, rows, empty] of DRAWN_COMPOSERS) {
  Deno.test(`a composer with a drawn cursor and ${what} ${empty ? "is" : "is not"} empty`, () => {
    assert.equal(genericScreen.composerEmpty(qwen(...rows)), empty);
  });
}

Deno.test("a composer with a drawn cursor holds what was typed, and no more", () => {
  const rows = [`${DRAWN}\x1b[39m[mesh] Which port does`, "  it use?\x1b[7m \u200b"];
  assert.ok(genericScreen.composerHolds(qwen(...rows), "[mesh] Which port does it use?"));
  assert.ok(!genericScreen.composerHolds(qwen(...rows), "[mesh] Which port does it"));
  const placeholder = `${DRAWN}\x1b[7m\x1b[39m \x1b[0m\x1b[38;5;103m Type your message`;
  assert.ok(!genericScreen.composerHolds(qwen(placeholder), "[mesh] Which port"));
});

Deno.test("an inverse character elsewhere does not move the composer from a line with text", () => {
  const lines = ["\x1b[7m1\x1b[0m:work", "$ make", ""];
  const view = { above: [], lines, cursor_x: 6, cursor_y: 1 };
  assert.equal(genericScreen.composerEmpty(view), false);
  assert.equal(genericScreen.composerEmpty({ ...view, cursor_y: 2 }), true);
});
