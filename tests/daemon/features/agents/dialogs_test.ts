/** The kinds of dialogs, as screens of the real programs show them. */

import assert from "node:assert/strict";
import { dialogIn, stripEscapes, waitAtStart } from "../../../../daemon/features/agents/screens.ts";

const GOLDEN = new URL("../../../golden/screens/", import.meta.url);

function rowsOf(name: string): string[] {
  return Deno.readTextFileSync(new URL(`${name}.txt`, GOLDEN)).split("\n").map(stripEscapes);
}

// deno-fmt-ignore
const SCREENS: Record<string, [kind: string, detail?: string] | undefined> = {
  "claude-code/trust":         ["trust"],
  "claude-code/permission":    ["permission"],
  "claude-code/empty":         undefined,
  "codex/hooks-review":        ["trust", "hooks"],
  "codex/permission":          ["permission"],
  "codex/empty":               undefined,
  "copilot/trust":             ["trust"],
  "copilot/permission":        ["permission"],
  "copilot/question":          ["question"],
  "copilot/empty":             undefined,
  "gemini/permission":         ["permission"],
  "gemini/empty":              undefined,
  "opencode/permission":       ["permission"],
  "opencode/empty":            undefined,
};

for (const [name, expected] of Object.entries(SCREENS)) {
  Deno.test(`the screen ${name} shows ${expected?.join(": ") ?? "no dialog"}`, () => {
    const found = dialogIn(rowsOf(name));
    assert.deepEqual(found && [found.kind, ...(found.detail ? [found.detail] : [])], expected);
  });
}

/** Rows of first screens, as of the versions in `screens.ts`. */
// deno-fmt-ignore
const FIRST_SCREENS: [text: string, kind: string | undefined][] = [
  ["  Trust this folder? Codex can read, edit, and run files here, subject to your permission settings.", "trust"],
  ["│ Do you trust the files in this folder?      │", "trust"],
  ["> 1. Sign in with ChatGPT", "login"],
  ["│   How would you like to authenticate for this project?   │", "login"],
  ["  Select login method:", "login"],
  ["Please use /login to sign in to use Copilot", "login"],
  ["  ⏵⏵ auto mode on (shift+tab to cycle)     Not logged in · run /login", "login"],
  ["│ Usage limit reached for gemini-3-pro.", "limit"],
  ["❯ 1. Something new", "dialog"],
  ["❯ ", undefined],
];

Deno.test("first screens show the question of trust, the login, or nothing", () => {
  for (const [text, kind] of FIRST_SCREENS) assert.equal(waitAtStart([text])?.kind, kind, text);
});
