/** `mesh uninstall`: what it removes, what it keeps, and what it refuses. */

import assert from "node:assert/strict";
import { runCli } from "../../../cli.ts";
import { runSetup } from "../../support/cli/run_setup.ts";
import { capturedTerminal } from "../../support/cli/captured_output.ts";

/** A home in which mesh is set up for Claude Code, with a state directory. */
class Home implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-uninstall-" });
  readonly state = `${this.dir}/state`;
  readonly config = `${this.dir}/.config/mesh/config.yaml`;
  readonly settings = `${this.dir}/.claude/settings.json`;
  readonly env = {
    HOME: this.dir,
    PATH: "",
    MESH_STATE: this.state,
    MESH_DAEMON__PORT: "1", // Nothing listens there.
  };

  constructor() {
    Deno.mkdirSync(`${this.dir}/.claude`);
    Deno.writeTextFileSync(this.settings, '{ "model": "opus" }\n');
    Deno.mkdirSync(this.state);
    Deno.writeTextFileSync(`${this.state}/mesh.db`, "");
    Deno.mkdirSync(`${this.dir}/.config/mesh`, { recursive: true });
    Deno.writeTextFileSync(this.config, "human: {name: sam}\n");
  }

  async run(...args: string[]) {
    const { terminal, lines } = capturedTerminal();
    const code = await runCli(args, this.env, terminal);
    return { code, ...lines };
  }

  has(path: string): boolean {
    try {
      return Deno.statSync(path) !== undefined;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false;
      throw error;
    }
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

Deno.test("uninstall undoes setup, and keeps the state and the configuration", async () => {
  using home = new Home();
  await runSetup([], home.env, { out: () => {}, err: () => {} });
  assert.match(Deno.readTextFileSync(home.settings), /hook claude-code/);
  const { code, out } = await home.run("uninstall", "--yes", "--json");
  assert.equal(code, 0);
  const { agents, kept, purged, then } = JSON.parse(out);
  assert.deepEqual([agents, kept, purged], [["claude-code"], [home.state, home.config], []]);
  assert.equal(then, "remove the sources");
  assert.equal(Deno.readTextFileSync(home.settings), '{ "model": "opus" }\n');
});

Deno.test("uninstall --purge removes the state and the configuration, too", async () => {
  using home = new Home();
  const { code, out } = await home.run("uninstall", "--yes", "--purge");
  assert.equal(code, 0);
  assert.match(out, /Removed .*config\.yaml\n.*Removed .*\/state\n/);
  assert.deepEqual([home.has(home.state), home.has(home.config)], [false, false]);
});

Deno.test("uninstall --purge refuses a MESH_STATE that is no state directory", async () => {
  using home = new Home();
  Deno.renameSync(`${home.state}/mesh.db`, `${home.state}/photos`);
  const { code, err } = await home.run("uninstall", "--yes", "--purge");
  assert.equal(code, 1);
  assert.match(err, /is no state directory of mesh; nothing was removed/);
  assert.ok(home.has(`${home.state}/photos`) && home.has(home.config));
});

Deno.test("uninstall without --yes is refused where nobody can be asked", async () => {
  using home = new Home();
  const { code, err } = await home.run("uninstall", "--json");
  assert.equal(code, 2);
  assert.match(err, /needs --yes/);
  assert.ok(home.has(home.state));
});
