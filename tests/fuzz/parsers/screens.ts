/** Readers of terminals: screens of every agent, panes, escape sequences, our own output. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { Splitter } from "kit/core/text.ts";
import { claudeScreen } from "../../../daemon/features/agents/claude_code/claude_code.ts";
import { codexScreen } from "../../../daemon/features/agents/codex/codex.ts";
import { copilotScreen } from "../../../daemon/features/agents/copilot/copilot.ts";
import { geminiScreen, turnStateShown } from "../../../daemon/features/agents/gemini/gemini.ts";
import { genericScreen } from "../../../daemon/features/agents/generic/generic.ts";
import { opencodeScreen } from "../../../daemon/features/agents/opencode/opencode.ts";
import { type Screen, stripEscapes, type View } from "../../../daemon/features/agents/screens.ts";
import { parsePane } from "../../../daemon/host/tmux/pane.ts";
import { columnWidths } from "../../../cli/output/table.ts";
import { clean } from "../../../cli/output/terminal.ts";
import { damagedText, fragment, hostileText } from "../hostile.ts";
import { parser, type Target } from "../target.ts";

const SCREENS: Readonly<Record<string, Screen>> = {
  "claude-code": claudeScreen,
  codex: codexScreen,
  copilot: copilotScreen,
  gemini: geminiScreen,
  opencode: opencodeScreen,
  generic: genericScreen,
};
const FOLDER = new URL("../../golden/screens/", import.meta.url);
const PANE = "%7\t41\t0\t0\t0\t100\t30\t3\t4\t1\t1700000000\t@3\twork\tclaude\t/work/a b";

/** The captured screens of one agent; those of any for a program without its own. */
function capturesOf(agent: string): string[] {
  const folders = agent === "generic" ? ["claude-code", "codex"] : [agent];
  return folders.flatMap((name) =>
    [...Deno.readDirSync(new URL(`${name}/`, FOLDER))]
      .map((entry) => Deno.readTextFileSync(new URL(`${name}/${entry.name}`, FOLDER)))
  );
}

const place = fc.oneof(fc.integer({ min: -2, max: 300 }), fc.constantFrom(NaN, 1e9));

function viewsOf(agent: string): fc.Arbitrary<View> {
  const rows = fc.oneof(
    { weight: 4, arbitrary: damagedText(capturesOf(agent)).map((text) => text.split("\n")) },
    { weight: 1, arbitrary: fc.array(fragment, { maxLength: 60 }) },
  );
  const above = fc.array(hostileText, { maxLength: 3 });
  return fc.record({ above, lines: rows, cursor_x: place, cursor_y: place });
}

export const SCREEN_PARSERS: readonly Target[] = [
  ...Object.entries(SCREENS).map(([agent, screen]) =>
    parser(`screens of ${agent}`, fc.tuple(viewsOf(agent), hostileText), ([view, text]) => {
      for (const answer of [screen.dialogOpen(view), screen.composerEmpty(view)]) {
        assert.ok(answer === undefined || typeof answer === "boolean");
      }
      assert.equal(typeof screen.composerHolds(view, text), "boolean");
      if (screen.collapsedPaste) assert.equal(typeof screen.collapsedPaste(view), "boolean");
      if (agent === "gemini") turnStateShown(view);
    })
  ),
  parser(
    "an empty screen",
    fc.constantFrom(...Object.values(SCREENS).filter((screen) => screen !== genericScreen)),
    (screen) => {
      const view = { above: [], lines: [], cursor_x: 0, cursor_y: 0 };
      assert.notEqual(screen.composerEmpty(view), true, "Nothing on a screen is no evidence");
      assert.equal(screen.composerHolds(view, "[mesh ask-0123456789ab] Hi"), false);
    },
  ),
  parser("escape sequences", fc.tuple(hostileText, hostileText), ([before, after]) => {
    const plain = stripEscapes(`${before}${after}`);
    assert.ok(plain.length <= before.length + after.length);
    assert.equal(stripEscapes(plain), plain);
  }),
  parser("panes", damagedText([PANE, "\t".repeat(14)]), (line) => {
    const pane = parsePane(line);
    if (pane) assert.ok(pane.pane_id !== "" && pane.session !== "");
  }),
  parser("output for a terminal", fc.array(hostileText, { maxLength: 4 }), (cells) => {
    const cleaned = cells.map(clean);
    for (const cell of cleaned) assert.doesNotMatch(cell, /[^\P{Cc}\t\n]/u);
    for (const width of columnWidths([cleaned], { columns: 80 })) assert.ok(width >= 0);
  }),
  parser("a splitter", fc.array(hostileText, { maxLength: 12 }), (chunks) => {
    const splitter = new Splitter("\n", 0);
    const parts = chunks.flatMap((chunk) => splitter.push(chunk));
    assert.deepEqual(parts, chunks.join("").split("\n").slice(0, -1));
  }),
];
