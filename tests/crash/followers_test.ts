/** Commands that follow the daemon end cleanly at any moment, before the daemon or with it. */

import assert from "node:assert/strict";
import { DENO_DIR, RealDaemon, temporary } from "../support/programs/child.ts";
import { programArguments } from "../support/programs/program.ts";
import { pause } from "../support/programs/process_facts.ts";
import { Chance } from "../support/seeded_random.ts";

const ROUNDS = 4;
const MOMENT_MS_MAX = 900;
const SETTINGS = { MESH_HUMAN__NAME: "sam" };
const COMMANDS = [["watch"], ["inbox", "watch"], ["top"], ["watch", "--json", "--replay", "9"]];
/** Exit codes: success, and the signals SIGINT and SIGTERM in a shell. */
const CODES = [0, 130, 143];

/** A follower with what it prints; `top` draws only on a terminal, which `script` makes. */
function follow(args: readonly string[], env: Record<string, string>) {
  const command = [Deno.execPath(), ...programArguments("").slice(0, -1), ...args];
  const quoted = command.map((word) => `'${word}'`).join(" ");
  return new Deno.Command("script", {
    args: ["-qefc", `exec ${quoted}`, "/dev/null"],
    env: { ...env, TERM: "xterm" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

Deno.test({
  name: "watch, inbox watch and top end cleanly at any moment, with the daemon or before it",
  ignore: Deno.build.os !== "linux",
  async fn() {
    for (let seed = 0; seed < ROUNDS; seed++) {
      const chance = new Chance(seed);
      using state = temporary();
      const env = {
        DENO_DIR,
        HOME: state.path,
        MESH_STATE: state.path,
        MESH_CONFIG: `${state.path}/c.yaml`,
      };
      const daemon = await RealDaemon.start(state.path, { settings: SETTINGS });
      const followers = COMMANDS.map((args) => ({ args, process: follow(args, env) }));
      const outputs = followers.map(({ process }) => process.output());
      const notify = () =>
        fetch(`${daemon.base}/notify`, {
          method: "POST",
          body: JSON.stringify({ from_peer: "cli", to_peer: "sam", text: "Hello" }),
        }).then((response) => response.body?.cancel());
      const flood = Promise.allSettled(Array.from({ length: 30 }, notify));
      await pause(chance.below(MOMENT_MS_MAX));
      if (chance.below(2) === 0) await (chance.below(2) === 0 ? daemon.stop() : daemon.kill());
      await pause(chance.below(MOMENT_MS_MAX / 3));
      // Ctrl-C, as the terminal sends it.
      for (const { process } of followers) {
        const writer = process.stdin.getWriter();
        await writer.write(new Uint8Array([3])).catch(() => undefined);
        writer.releaseLock();
      }
      for (const [index, output] of (await Promise.all(outputs)).entries()) {
        const text = new TextDecoder().decode(output.stdout);
        const which = `seed ${seed}, ${COMMANDS[index]?.join(" ")}: ${text.slice(-600)}`;
        assert.ok(CODES.includes(output.code) || /No daemon answers/.test(text), which);
        assert.doesNotMatch(text, /Uncaught|^ +at |TypeError|not open/m, which);
      }
      await flood;
      await daemon.stop();
    }
  },
});
