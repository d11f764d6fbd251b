/** The questions of `mesh setup` in a real terminal. */

import assert from "node:assert/strict";
import { until, withTmux } from "../../support/host/private_tmux.ts";
import { meshArguments } from "../../support/programs/program.ts";

const DENO_DIR = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME") ?? ""}/.cache/deno`;

for (const key of ["C-c", "C-d"]) {
  withTmux(`${key} at the first question of setup changes nothing`, async (terminal) => {
    const home = `${terminal.dir}/home`;
    Deno.mkdirSync(`${home}/.claude`, { recursive: true });
    const env = `HOME='${home}' DENO_DIR='${DENO_DIR}'`;
    const mesh = meshArguments([]).map((word) => `'${word}'`).join(" ");
    const command = `${env} '${Deno.execPath()}' ${mesh} setup --agent claude-code`;
    // The shell outlives the Ctrl-C, which the terminal sends to both.
    const script = `trap true INT; ${command}; echo "code $?"; exec cat`;
    const pane = terminal.start(terminal.program("setup.sh", script));
    const shows = (text: RegExp) =>
      until(String(text), () => text.test(terminal.screen(pane))).catch(() =>
        assert.match(terminal.screen(pane), text)
      );
    await shows(/Make these changes\? \[(?:Y\/n|y\/N)\]/);
    terminal.cli("send-keys", "-t", pane, key);
    await shows(/code \d+/);
    assert.match(terminal.screen(pane), /Interrupted[^]*code 130/);
    assert.deepEqual([...Deno.readDirSync(`${home}/.claude`)], []);
  });
}
