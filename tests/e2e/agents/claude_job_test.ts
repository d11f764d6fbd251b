/** Real Claude Code: started for a job, completes it with its turn, and ends with the fire. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { getJob } from "protocol/jobs/contract.ts";
import { getPeer } from "protocol/peers/contract.ts";
import { isAlive } from "../../../daemon/host/processes.ts";
import { Lab, withLab } from "../../support/e2e/lab.ts";
import { run } from "../../support/e2e/programs.ts";
import { until } from "../../support/waiting.ts";
import { meshArguments } from "../../support/programs/program.ts";

const TIMEOUT_MS = 60_000;

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
    // A daemon that runs in a pane spawns agents in that pane's server.
    await lab.mesh.up({ TMUX: `${lab.tmux_socket},1,0` });
  }

  /** Runs one of our commands to its end. */
  async mesh(...args: string[]): Promise<{ code: number; out: string; err: string }> {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: meshArguments(args),
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
    await using fixture = new WorkingLab();
    const { lab } = fixture;
    await fixture.up();
    const folder = join(lab.dir, "api");
    const jobOptions = ["--path", folder, "--backend", "claude-code", "--check", "here"];
    const createResult = await fixture.mesh(
      "jobs",
      "create",
      "Name the lake",
      ...jobOptions,
      "--follow",
    );
    assert.equal(createResult.code, 0, createResult.out + createResult.err);
    assert.match(createResult.out, /completed\nIt is Lake Constance\n$/);
    const id = /work-[0-9a-f]{12}/.exec(createResult.out)?.[0] ?? "";
    const result = await fixture.mesh("jobs", "result", id);
    assert.equal(result.out, "It is Lake Constance\n");
    const { runner: { attempts: [attempt] }, result_data, execution } = await fixture.job(id);
    assert.deepEqual([attempt?.executor, attempt?.state], ["spawned", "completed"]);
    assert.equal(execution.target.path, folder);
    const check = { name: "here", exit: 0, output_tail: "", reason: null };
    assert.deepEqual(result_data?.["checks"], [check]);
    assert.equal(lab.model.asked("Name the lake").length, 1, "it was asked once");
    const params = { id: attempt?.executor_peer_id ?? "" };
    const peer = await until("its retirement", async () => {
      const found = await fixture.call(getPeer, { params, query: {} });
      return found.status === "retired" && found;
    }, TIMEOUT_MS);
    assert(peer.agent_pid !== null && !isAlive(peer.agent_pid), "its process has ended");
    const panes = run("tmux", ["-S", lab.tmux_socket, "list-panes", "-a", "-F", "#{pane_id}"]);
    assert(!panes.split("\n").includes(peer.pane_id ?? ""), `its pane is closed: ${panes}`);
    const shown = await fixture.mesh("jobs");
    assert.match(shown.out, new RegExp(`${id} +completed`));
  },
);
