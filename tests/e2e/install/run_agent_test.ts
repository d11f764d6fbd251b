/** `mesh run claude`: from an empty home with one agent to its first answer in two commands. */

import assert from "node:assert/strict";
import { readTextOrNothing } from "../../../daemon/host/paths.ts";
import { claudeCode } from "../../support/e2e/installed_agents.ts";
import { Lab, withLab } from "../../support/e2e/lab.ts";
import { ANSWERS } from "../../support/e2e/model_rules.ts";
import { meshArguments } from "../../support/programs/program.ts";

withLab(
  import.meta.url,
  "two commands connect a Claude Code, start it, and bring its first answer",
  async () => {
    await using lab = new Lab({ rules: [ANSWERS], bare: true, projects: ["home/api"] });
    // A daemon that is started in a pane starts agents in that pane's server.
    const env = { ...lab.env, TMUX: `${lab.tmux_socket},1,0` };
    const mesh = async (...args: string[]) => {
      const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: meshArguments(args),
        env,
        clearEnv: true,
        cwd: `${lab.dir}/home/api`,
        stdin: "null",
      }).output();
      const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
      assert.ok(success, `${args.join(" ")}\n${text}`);
      return text;
    };
    try {
      const started = await mesh("run", "claude", "--detach", "--yes", "--tag", "backend");
      assert.match(started, /~\/\.claude\/settings\.json/);
      assert.match(started, /Started the daemon/);
      assert.match(started, /^claude {2}starts in tmux \S+ %\d+$/m);
      assert.match(started, /Ask it: mesh ask claude "…" --wait/);
      assert.match(await mesh("ask", "claude", "Which port?", "--wait"), /Port 8080/);
      assert.match(await mesh("tag", "claude"), /backend/);
      const again = await mesh("run", "claude", "--detach");
      assert.doesNotMatch(again, /settings\.json|Started the daemon/);
      assert.match(again, /^claude-2 {2}starts/m);
      assert.equal(readTextOrNothing(`${lab.env["MESH_STATE"]}/hook.log`), undefined);
    } finally {
      await mesh("down");
    }
  },
  claudeCode,
);
