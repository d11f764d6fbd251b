/** Real Claude Code: started for a job, completes it with its turn, and is ended with the fire. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { getJob } from "../../../daemon/features/jobs/contract.ts";
import { getPeer } from "../../../daemon/features/peers/contract.ts";
import { isAlive } from "../../../daemon/host/processes.ts";
import { Lab, withLab } from "../../support/e2e/lab.ts";
import { MAIN, run } from "../../support/e2e/programs.ts";
import { until } from "../../support/e2e/waiting.ts";

const PATIENCE_MS = 60_000;

/** A lab whose daemon may start Claude Code for jobs, in the lab's own tmux server. */
class WorkingLab implements AsyncDisposable {
  readonly lab = new Lab({
    bare: true,
    permissions: ["mcp__mesh"],
    projects: ["api"],
    rules: [{ match: /Name the lake/, steps: [{ say: "It is Lake Constance" }] }],
  });

  async up(): Promise<void> {
    const { lab } = this;
    const commands = { "claude-code": ["claude", "--permission-mode", "manual"] };
    const spawn = { commands, allowed_paths: [lab.dir] };
    const jobs = { checks: { here: { argv: ["test", "-d", "."] } } };
    await lab.mesh.setUp({ config: { spawn, jobs } });
    // A daemon that was started in a pane spawns agents in that pane's server.
    await lab.mesh.up({ TMUX: `${lab.tmux_socket},1,0` });
  }

  /** Runs a command of ours to its end. */
  async mesh(...words: string[]): Promise<{ code: number; out: string; err: string }> {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", MAIN, ...words],
      env: { ...this.lab.env },
      clearEnv: true,
      stdin: "null",
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code, out: text(stdout), err: text(stderr) };
  }

  get call() {
    return this.lab.mesh.call;
  }

  async job(id: string) {
    const found = await this.call(getJob, { params: { id } });
    assert("job_id" in found);
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab[Symbol.asyncDispose]();
  }
}

withLab(
  import.meta.url,
  "Claude Code is started for a job, completes it with its turn, and is ended",
  async () => {
    await using office = new WorkingLab();
    const { lab } = office;
    await office.up();
    const folder = join(lab.dir, "api");
    const where = ["--path", folder, "--backend", "claude-code", "--check", "here"];
    const made = await office.mesh("jobs", "create", "Name the lake", ...where, "--follow");
    assert.equal(made.code, 0, made.out + made.err);
    assert.match(made.out, /completed\nIt is Lake Constance\n$/);
    const id = /work-[0-9a-f]{12}/.exec(made.out)?.[0] ?? "";
    const result = await office.mesh("jobs", "result", id);
    assert.equal(result.out, "It is Lake Constance\n");
    const { runner: { attempts: [attempt] }, result_data, execution } = await office.job(id);
    assert.deepEqual([attempt?.executor, attempt?.state], ["spawned", "completed"]);
    assert.equal(execution.target.path, folder);
    assert.deepEqual(result_data?.["checks"], [{ name: "here", exit: 0, output_tail: "" }]);
    assert.equal(lab.model.asked("Name the lake").length, 1, "it was asked once");
    const params = { id: attempt?.executor_peer_id ?? "" };
    const peer = await until("its retirement", async () => {
      const found = await office.call(getPeer, { params, query: {} });
      return found.status === "retired" && found;
    }, PATIENCE_MS);
    assert(peer.agent_pid !== null && !isAlive(peer.agent_pid), "its process has ended");
    const panes = run("tmux", ["-S", lab.tmux_socket, "list-panes", "-a", "-F", "#{pane_id}"]);
    assert(!panes.split("\n").includes(peer.pane_id ?? ""), `its pane is closed: ${panes}`);
    const shown = await office.mesh("jobs");
    assert.match(shown.out, new RegExp(`${id} +completed`));
  },
);
