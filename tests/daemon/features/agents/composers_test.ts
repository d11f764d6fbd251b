/** The composers of all agents, read from captured screens. */

import assert from "node:assert/strict";
import { claudeScreen } from "../../../../daemon/features/agents/claude_code/claude_code.ts";
import { codexScreen } from "../../../../daemon/features/agents/codex/codex.ts";
import { copilotScreen } from "../../../../daemon/features/agents/copilot/copilot.ts";
import { geminiScreen } from "../../../../daemon/features/agents/gemini/gemini.ts";
import { opencodeScreen } from "../../../../daemon/features/agents/opencode/opencode.ts";
import {
  type Screen,
  stripEscapes,
  visibleAscii,
} from "../../../../daemon/features/agents/screens.ts";

const SCREENS = new URL("../../../golden/screens/", import.meta.url);
/** Placeholders that are not drawn faint, which only their words distinguish from a draft. */
const PLACEHOLDER = /Type your message or @path|Ask anything… "/;
/** The captured screens with an empty composer, and the row of its cursor. */
const EMPTY: readonly [folder: string, screen: Screen, rows: Readonly<Record<string, number>>][] = [
  ["claude-code", claudeScreen, { empty: 0, busy: 0 }],
  ["codex", codexScreen, { empty: 46, busy: 46, titled: 46, help: 46 }],
  ["copilot", copilotScreen, { empty: 47, busy: 47 }],
  ["gemini", geminiScreen, { empty: 10, busy: 16 }],
  ["opencode", opencodeScreen, { first: 0, empty: 0 }],
];

for (const [folder, screen, rows] of EMPTY) {
  Deno.test(`${folder}: no text elsewhere on the screen is read as that of an empty composer`, () => {
    for (const [name, cursor_y] of Object.entries(rows)) {
      const lines = Deno.readTextFileSync(new URL(`${folder}/${name}.txt`, SCREENS)).split("\n");
      const view = { above: [], lines, cursor_x: 0, cursor_y };
      // A row, and the parts into which a footer or a prompt sign divides it.
      const texts = lines.map(stripEscapes).flatMap((
        row,
      ) => [row, ...row.split(/ · |[›❯>] | {2,}/)]);
      const shown = texts.filter((text) => visibleAscii(text) !== "" && !PLACEHOLDER.test(text));
      assert.ok(shown.length > 4, name);
      for (const text of shown) assert.equal(screen.composerHolds(view, text), false, text);
    }
  });
}
