/** Kills the daemon while it starts, runs and ends an executor of its own, in a real tmux. */

import assert from "node:assert/strict";
import { RealDaemon, temporary } from "../support/programs/child.ts";
import { until } from "../support/waiting.ts";
import { pause } from "../support/programs/process_facts.ts";

/** An agent that finds its daemon again after each kill, and works once it is allowed to. */
const AGENT = String.raw`
const [state, allowed, log] = Deno.args;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const call = async (path, body) => {
  for (;;) {
    try {
      const { url } = JSON.parse(Deno.readTextFileSync(state + "/daemon.json"));
      const init = body && { method: "POST", body: JSON.stringify(body) };
      return await (await fetch(url + path, init)).json();
    } catch {
      await pause(50);
    }
  }
};
const { TMUX = "", TMUX_PANE: pane_id = "" } = Deno.env.toObject();
const place = { pane_id, tmux_socket: TMUX.split(",")[0], agent_pid: Deno.pid };
const { peer_id } = await call("/peers", { path: Deno.cwd(), backend: "sdk", ...place });
const known = new Set();
for (;; await pause(50)) {
  const { deliveries = [], drain_id } = await call("/deliveries/pending?peer_id=" + peer_id);
  if (drain_id) await call("/deliveries/receipts", { drain_id, status: "accepted" });
  for (const { delivery_id } of deliveries.filter(({ delivery_id: id }) => !known.has(id))) {
    known.add(delivery_id);
    Deno.writeTextFileSync(log, delivery_id + "\n", { append: true });
    await call("/peers/" + peer_id + "/turn", { turn_state: "working", prompt: "[mesh " + delivery_id + "]" });
    while (!Deno.readTextFileSync(allowed).includes("go")) await pause(20);
    await call("/peers/" + peer_id + "/turn", { turn_state: "idle", last_message: "Done" });
  }
}
`;

/** A daemon that starts this agent in a tmux server of its own. */
function fixture() {
  const state = temporary();
  const socket = `${state.path}/tmux.sock`,
    allowed = `${state.path}/allowed`,
    log = `${state.path}/log`;
  const program = `${state.path}/agent.ts`;
  Deno.writeTextFileSync(program, AGENT);
  Deno.writeTextFileSync(allowed, "");
  Deno.writeTextFileSync(log, "");
  const argv = [Deno.execPath(), "run", "-A", "--no-config", program, state.path, allowed, log];
  const settings = {
    TMUX: `${socket},1,0`,
    MESH_SPAWN__COMMANDS: JSON.stringify({ sdk: argv }),
    MESH_SPAWN__ALLOWED_PATHS: JSON.stringify([state.path]),
  };
  const tmux = (...args: string[]) => {
    const { stdout } = new Deno.Command("tmux", { args: ["-S", socket, ...args] }).outputSync();
    return new TextDecoder().decode(stdout).split("\n").filter(Boolean);
  };
  let daemon: RealDaemon | undefined;
  return {
    path: state.path,
    start: async () => void (daemon = await RealDaemon.start(state.path, { settings })),
    kill: async () => await daemon?.kill(),
    allow: () => Deno.writeTextFileSync(allowed, "go"),
    /** The messages that agents began to work on, in order. */
    begun: () => Deno.readTextFileSync(log).split("\n").filter(Boolean),
    panes: () => tmux("list-panes", "-a", "-F", "#{pane_id}"),
    async get(path: string) {
      return await (await fetch(`${daemon?.base}${path}`)).json();
    },
    async post(path: string, body: unknown) {
      const init = { method: "POST", body: JSON.stringify(body) };
      return await (await fetch(`${daemon?.base}${path}`, init)).json();
    },
    async [Symbol.asyncDispose]() {
      await daemon?.stop();
      tmux("kill-server");
      await pause(500); // The agents write no more.
      state[Symbol.dispose]();
    },
  };
}

const hasTmux = () => {
  try {
    return new Deno.Command("tmux", { args: ["-V"], stdout: "null" }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
};

for (const phase of ["started", "running", "ended"] as const) {
  const name =
    `kill -9 while our executor is being ${phase}: its job is done once, and no pane is left`;
  Deno.test({ name, ignore: !hasTmux() }, async () => {
    await using at = fixture();
    await at.start();
    const own = { title: "Work", path: at.path, backend: "sdk" };
    const { job_id } = await at.post("/jobs", own);
    const stateOf = async () => (await at.get(`/jobs/${job_id}`)).state;
    if (phase === "started") await until("its pane", () => at.panes().length > 0);
    else await until("its turn", async () => await stateOf() === "running");
    if (phase === "ended") {
      at.allow();
      await until("its end", async () => await stateOf() === "completed");
    }
    await at.kill();
    await at.start();
    at.allow();
    await until("the end of the job", async () => await stateOf() === "completed");
    const { runner, result_summary } = await at.get(`/jobs/${job_id}`);
    assert.equal(result_summary, "Done");
    assert.equal(at.begun().length, 1, "it was begun more than once");
    await until("the end of its pane", () => at.panes().length === 0);
    const done = runner.attempts.at(-1);
    assert.deepEqual([done.executor, done.state], ["spawned", "completed"]);
    await until("its retirement", async () => {
      return (await at.get(`/peers/${done.executor_peer_id}`)).status === "retired";
    });
  });
}
