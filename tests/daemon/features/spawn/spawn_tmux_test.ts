import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import type { Hooks } from "../../../../daemon/features/agents/adapter.ts";
import { isWithheld, Panes } from "../../../../daemon/host/tmux/terminals.ts";
import { isAlive, parentOf } from "../../../../daemon/host/processes.ts";
import { RealProcesses } from "../../../support/host/real_processes.ts";
import { world } from "../../../support/world.ts";
import { get, post } from "../../../support/daemon/peer_clients.ts";
import { codex } from "../../../support/daemon/spawns.ts";
import { silent, type Terminal, until, withTmux } from "../../../support/host/private_tmux.ts";

/** An agent: registers over HTTP like a hook, writes its arguments to a file, and waits. */
const AGENT = String.raw`
const { TMUX = "", TMUX_PANE: pane_id = "", MESH_URL: url = "" } = Deno.env.toObject();
const resumed = Deno.args.includes("resume") ? Deno.args.at(-1) : undefined;
const fact = { pid: Deno.pid, args: Deno.args.slice(1), cwd: Deno.cwd(), env: Deno.env.toObject() };
const body = {
  path: Deno.cwd(), backend: "codex", pane_id, tmux_socket: TMUX.split(",")[0],
  agent_pid: Deno.pid, runtime_session_id: resumed ?? "s-" + Deno.pid,
};
const answer = await fetch(url + "/peers", { method: "POST", body: JSON.stringify(body) });
const line = JSON.stringify({ ...fact, answer: await answer.json() });
Deno.writeTextFileSync(Deno.args[0], line + "\n", { append: true });
for await (const _ of Deno.stdin.readable) {}
`;

interface StartedAgent {
  readonly pid: number;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly answer: { readonly peer_id: string };
}

const hooks: Hooks = {
  codex: {
    read: () => ({ event: "SessionStart", session_id: "" }),
    answer: () => ({}),
  },
};

/** A listening daemon with a real tmux, and a command that runs the agent above. */
function fixture(terminal: Terminal, settings: Record<string, string> = {}, env = {}) {
  const program = `${terminal.dir}/agent.ts`, logFile = `${terminal.dir}/agent.log`;
  Deno.writeTextFileSync(program, AGENT);
  const folder = Deno.realPathSync(terminal.dir);
  const { tmuxServers } = terminal;
  const panes = new Panes({
    tmuxServers,
    clock: systemClock,
    log: silent,
    env: { ...Deno.env.toObject(), TMUX: `${terminal.socket},1,0`, ...env },
  });
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request, { remoteAddr }) => w.daemon.fetch(request, remoteAddr),
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  const argv = [
    Deno.execPath(),
    "run",
    "-A",
    "--no-config",
    program,
    logFile,
    "$(touch hacked)",
    ";x",
  ];
  const w = world({
    adapters: [codex],
    hooks,
    terminals: panes,
    processes: new RealProcesses(),
    settings: {
      "daemon.allowed_hosts": JSON.stringify(["127.0.0.1"]),
      "spawn.commands": JSON.stringify({ codex: argv }),
      "spawn.allowed_paths": JSON.stringify([folder]),
      "spawn.env": JSON.stringify({ MESH_URL: url, ODD: "a b;c'd\"$HOME#{pane_id}\n%" }),
      ...settings,
    },
  });
  w.daemon.address.port = server.addr.port;
  return {
    w,
    folder,
    panes,
    get agents(): StartedAgent[] {
      const lines = terminal.read("agent.log").split("\n").slice(0, -1);
      return lines.map((line): StartedAgent => JSON.parse(line));
    },
    async [Symbol.asyncDispose]() {
      terminal.killServer();
      await w[Symbol.asyncDispose]();
      await server.shutdown();
    },
  };
}

/** Advances the daemon's clock with the real one until the promise settles. */
async function within<T>(w: ReturnType<typeof fixture>["w"], work: Promise<T>): Promise<T> {
  let done = false;
  const watched = work.finally(() => done = true);
  watched.catch(() => undefined); // It is awaited below.
  while (!done) {
    await w.clock.advance(100);
    await systemClock.sleep(10);
  }
  return await watched;
}

withTmux(
  "a spawned agent gets its arguments unchanged, and no secret of the daemon",
  async (terminal) => {
    const secret = { MESH_DAEMON__AUTH_TOKEN: "s3cret", MESH_SURFACES__TELEGRAM__TOKEN: "s3cret" };
    await using at = fixture(terminal, {}, { ...secret, HARMLESS: "1", CLAUDE_PID: "1" });
    const { w, folder } = at;
    const path = `${folder}/odd #(touch hacked) #{pane_id} 'x' "y" $HOME`;
    Deno.mkdirSync(path);
    const first = await post(w, "/spawn", { path, backend: "codex", circle: "main", name: "api" });
    assert.equal(first.status, 200, JSON.stringify(first));
    const firstAgent = await until("the first agent", () => at.agents[0]);
    assert.deepEqual(firstAgent.args, ["$(touch hacked)", ";x"]);
    assert.equal(firstAgent.cwd, path);
    assert.equal(firstAgent.env["ODD"], "a b;c'd\"$HOME#{pane_id}\n%");
    assert.equal(firstAgent.env["MESH_SPAWN_ID"], first.spawn_id);
    assert.equal(firstAgent.env["HARMLESS"], "1");
    // The agent may have registered before its spawn was stored; then it was renamed since.
    assert.equal((await get(w, `/peers/${firstAgent.answer.peer_id}`)).display_name, "api");
    assert.equal(
      Number(terminal.format(first.pane_id, "#{pane_pid}")),
      firstAgent.pid,
      "no shell between",
    );
    // The second agent starts in a tmux server whose environment holds a secret.
    terminal.cli("set-environment", "-g", "MESH_RELAY__SECRET", "s3cret");
    terminal.cli("set-environment", "-g", "CLAUDE_CODE_SESSION_ID", "s3cret");
    const second = await post(w, "/spawn", { path: folder, backend: "codex", circle: "main" });
    const secondAgent = await until("the second agent", () => at.agents[1]);
    for (const { env } of [firstAgent, secondAgent]) {
      assert.deepEqual(Object.keys(env).filter(isWithheld), []);
      assert.ok(!JSON.stringify(env).includes("s3cret"));
    }
    assert.deepEqual([first.tmux_session, second.tmux_session], ["main", "main"]);
    assert.equal(terminal.cli("list-sessions", "-F", "#{session_name}"), "main");
    assert.deepEqual([...Deno.readDirSync(folder)].filter(({ name }) => name === "hacked"), []);
  },
);

withTmux("two circles are two tmux sessions, and names are matched in full", async (terminal) => {
  await using at = fixture(terminal);
  const { w, folder: path } = at;
  const spawn = (circle: string) => post(w, "/spawn", { path, backend: "codex", circle });
  const spawned = [await spawn("red-long"), ...await Promise.all([spawn("red"), spawn("red")])];
  assert.deepEqual(spawned.map(({ tmux_session }) => tmux_session), ["red-long", "red", "red"]);
  const dotted = await spawn("v1.2");
  await until("all agents", () => at.agents.length === 4);
  const { peer_id } = at.agents.find(({ env }) =>
    env["MESH_SPAWN_ID"] === dotted.spawn_id
  )?.answer ??
    { peer_id: "" };
  assert.equal((await get(w, `/peers/${peer_id}`)).circle, "v1.2");
});

withTmux("in window mode the agent's pane splits the window of the sender", async (terminal) => {
  await using at = fixture(terminal, { "daemon.circle_boundary": "window" });
  const { w, folder: path } = at;
  const source_pane = terminal.start("sleep 1000");
  const window = terminal.format(source_pane, "#{window_id}");
  const spawned = await post(w, "/spawn", { path, backend: "codex", source_pane });
  assert.equal(spawned.status, 200, JSON.stringify(spawned));
  assert.equal(terminal.format(spawned.pane_id, "#{window_id}"), window);
  const { answer } = await until("the agent", () => at.agents[0]);
  assert.equal((await get(w, `/peers/${answer.peer_id}`)).circle, `window-${window.slice(1)}`);
  const none = await post(w, "/spawn", { path, backend: "codex", source_pane: "%77" });
  assert.deepEqual([none.status, none.error], [422, "source_pane_required"]);
});

withTmux(
  "a restart keeps the pane, the session and the peer",
  async (terminal) => {
    await using at = fixture(terminal);
    const { w, folder: path } = at;
    const { pane_id } = await post(w, "/spawn", { path, backend: "codex", name: "api" });
    const before = await until("the agent", () => at.agents[0]);
    const answer = await within(w, post(w, "/peers/api/restart", {}));
    assert.equal(answer.outcome, "restarted", Deno.inspect([answer, w.logged]));
    const after = await until("the agent again", () => at.agents[1]);
    assert.deepEqual(after.args.slice(-2), ["resume", `s-${before.pid}`]);
    assert.equal(after.answer.peer_id, before.answer.peer_id);
    assert.equal(after.env["TMUX_PANE"], pane_id);
    assert.ok(!isAlive(before.pid) && isAlive(after.pid));
    assert.equal(terminal.cli("show-options", "-p", "-t", pane_id, "-v", "remain-on-exit"), "");
    const fresh = await within(w, post(w, "/peers/api/restart", { fresh: true }));
    assert.equal(fresh.outcome, "restarted", Deno.inspect([fresh, w.logged]));
    const third = await until("the agent a third time", () => at.agents[2]);
    assert.equal(third.answer.peer_id, before.answer.peer_id);
    assert.ok(!third.args.includes("resume"));
  },
);

withTmux("hasProgram looks a program up as tmux would run it", async (terminal) => {
  await using at = fixture(terminal, {}, { PATH: "/nowhere" });
  terminal.start("sleep 1000");
  Deno.writeTextFileSync(`${terminal.dir}/tool`, "#!/bin/sh", { mode: 0o755 });
  Deno.writeTextFileSync(`${terminal.dir}/text`, "no program");
  Deno.mkdirSync(`${terminal.dir}/folder`);
  Deno.symlinkSync("loop", `${terminal.dir}/loop`);
  const PATH = `/none:${terminal.dir}/text:${terminal.dir}`;
  // deno-fmt-ignore
  const cases: [boolean, string[], Record<string, string>][] = [
    [true,  ["sh", "-c", "true"],            {}       ],
    [true,  [`${terminal.dir}/tool`],        {}       ],
    [true,  ["./tool"],                      {}       ],
    [true,  ["tool"],                        { PATH } ],
    [true,  ["A=1", `PATH=${PATH}`, "tool"], {}       ],
    [false, ["tool", `PATH=${PATH}`],        {}       ],
    [false, ["sh"],                          { PATH } ],
    [false, ["tool"],                        {}       ],
    [false, ["text"],                        { PATH } ],
    [false, ["folder"],                      { PATH } ],
    [false, ["./loop"],                      {}       ],
    [false, ["./text/tool"],                 {}       ],
    [false, ["A=1"],                         {}       ],
  ];
  for (const [there, argv, env] of cases) {
    const found = await at.panes.hasProgram(terminal.socket, { cwd: terminal.dir, argv, env });
    assert.equal(found, there, argv.join(" "));
  }
});

withTmux("respawn does not replace another program in the pane", async (terminal) => {
  await using at = fixture(terminal);
  const pane_id = terminal.start("sleep 1000");
  const seen = await at.panes.getPane(terminal.socket, pane_id);
  assert.ok(seen);
  const launch = { cwd: "/", argv: ["sleep", "999"], env: {} };
  const stale = { ...seen, pane_pid: seen.pane_pid + 1 };
  const refused = await at.panes.respawn(terminal.socket, stale, launch);
  assert.equal(refused.ok, false);
  assert.ok(isAlive(seen.pane_pid));
  assert.equal(await at.panes.getPane(terminal.socket, "%99"), undefined);
  assert.equal(await at.panes.getPane(`${terminal.dir}/none`, pane_id), undefined);
  const gone = (socket: string, pane: string) => at.panes.isGone(socket, pane);
  assert.equal(await gone(terminal.socket, pane_id), false);
  assert.equal(await gone(terminal.socket, "%99"), true);
  assert.equal(await gone(terminal.socket, ""), true);
  assert.equal(await gone(`${terminal.dir}/none`, pane_id), true);
});

withTmux("a restart does not replace a shell in which other jobs run", async (terminal) => {
  await using at = fixture(terminal);
  const pane_id = terminal.start("sh -c 'sleep 1001 & sleep 1002 & wait'");
  const seen = await at.panes.getPane(terminal.socket, pane_id);
  const children = () => {
    const { stdout } = new Deno.Command("ps", { args: ["-A", "-o", "pid=,args="] }).outputSync();
    const lines = new TextDecoder().decode(stdout).split("\n").map((line) => line.trim());
    const pids = lines.filter((line) => / sleep 100[12]$/.test(line)).map(parseFloat)
      .filter((pid) => parentOf(pid) === seen?.pane_pid);
    return pids.length === 2 && pids;
  };
  const [firstJob = 0, secondJob = 0] = await until("both jobs", children);
  assert.equal(await at.panes.isShared(firstJob, seen?.pane_pid ?? 0), true);
  Deno.kill(secondJob, "SIGKILL");
  await until("the end of one", () => !isAlive(secondJob));
  assert.equal(await at.panes.isShared(firstJob, seen?.pane_pid ?? 0), false);
});

withTmux(
  "a pane is found by its mark, and closed only with its original process",
  async (terminal) => {
    await using at = fixture(terminal);
    const { panes } = at, { socket, dir: cwd } = terminal;
    const launch = { cwd, argv: ["sleep", "1000"], env: {}, mark: "attempt-3f9c04d1a2b7" };
    terminal.start("sleep 1000");
    const opened = await panes.openWindow(socket, "office", launch);
    assert.ok(opened.ok);
    const { pane } = opened;
    assert.equal((await panes.find(socket, launch.mark))?.pane_id, pane.pane_id);
    assert.equal(await panes.find(socket, "attempt-000000000000"), undefined);
    assert.equal(await panes.find(`${terminal.dir}/none`, launch.mark), undefined);
    assert.equal(await panes.closeIfSame(socket, { ...pane, pane_pid: pane.pane_pid + 1 }), false);
    assert.ok(isAlive(pane.pane_pid));
    assert.equal(await panes.closeIfSame(socket, pane), true);
    await until("the end of its program", () => !isAlive(pane.pane_pid));
    assert.equal(await panes.getPane(socket, pane.pane_id), undefined);
  },
);

withTmux("a pane remembers the words that were added to its command", async (terminal) => {
  await using at = fixture(terminal);
  const { panes } = at, { socket, dir: cwd } = terminal;
  const added = ["--say", 'it\'s #{pane_id} "ü" $HOME;', "--x=1\n2"];
  const launch = { cwd, argv: ["sh", "-c", "sleep 1000", ...added], env: {}, added };
  const user = terminal.start("sleep 1000");
  assert.deepEqual(await panes.addedWords(socket, user), []);
  const opened = await panes.openWindow(socket, "office", { ...launch, mark: "attempt-1" });
  assert.ok(opened.ok);
  const { pane_id } = opened.pane;
  assert.deepEqual(await panes.addedWords(socket, pane_id), added);
  const again = await panes.respawn(socket, opened.pane, launch);
  assert.ok(again.ok);
  assert.deepEqual(await panes.addedWords(socket, pane_id), added);
  await panes.keep(socket, pane_id, true);
  Deno.kill(again.pane.pane_pid, "SIGKILL");
  await until("its end", async () => (await panes.getPane(socket, pane_id))?.dead);
  assert.deepEqual(await panes.addedWords(socket, pane_id), added);
  assert.deepEqual(await panes.addedWords(`${terminal.dir}/none`, pane_id), []);
  const prompt = ["x".repeat(5000)];
  const long = { ...launch, argv: ["sh", "-c", "sleep 1000", ...prompt], added: prompt };
  const started = await panes.openWindow(socket, "office", long);
  assert.ok(started.ok, "a long prompt starts the agent, and is not remembered");
  assert.deepEqual(await panes.addedWords(socket, started.pane.pane_id), []);
});
