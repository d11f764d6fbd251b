/** The CLI's colours: in a real terminal, and only there. */

import assert from "node:assert/strict";
import { until, withTmux } from "../../support/host/private_tmux.ts";
import { DENO_DIR } from "../../support/programs/child.ts";
import { programArguments } from "../../support/programs/program.ts";

const ESCAPE = "\x1b[";

withTmux("colours appear only at a terminal, and not with NO_COLOR", async (terminal) => {
  const program = [Deno.execPath(), ...programArguments("", []).slice(0, -1), "update"]
    .map((word) => `'${word}'`).join(" ");
  const home = `HOME='${terminal.dir}' DENO_DIR='${DENO_DIR}'`;
  const script = `unset NO_COLOR
${home} ${program}; echo end of the first
${home} NO_COLOR=1 ${program}; echo end of the second
${home} ${program} > '${terminal.dir}/piped'; echo end of the third; exec cat`;
  const pane = terminal.start(terminal.program("colours.sh", script));
  const styled = () => terminal.cli("capture-pane", "-e", "-p", "-t", pane);
  await until("all three", () => styled().includes("end of the third"));
  const [first = "", second = ""] = styled().split(/end of the (?:first|second)/);
  for (const text of [first, second, terminal.read("piped")]) assert.match(text, /To update it: /);
  assert.deepEqual(
    [first, second, terminal.read("piped")].map((text) => text.includes(ESCAPE)),
    [true, false, false],
  );
});
