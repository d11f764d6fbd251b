/** `mesh run`: any program as a peer in a pane, with a real daemon and a real tmux. */

import assert from "node:assert/strict";
import * as z from "zod";
import { writeRuntimeFile } from "../../../../daemon/host/runtime_file.ts";
import { readTextOrNothing } from "../../../../daemon/host/paths.ts";
import { RealDaemon, temporary } from "../../../support/programs/child.ts";
import { meshCommand } from "../../../support/programs/program.ts";
import { runCli } from "../../../../cli.ts";
import { capturedTerminal } from "../../../support/cli/captured_output.ts";
import { until } from "../../../support/waiting.ts";
import { answeringDaemon, deadPort, HEALTH, PEER } from "../../../support/cli/answering_daemon.ts";
import { type Terminal, withTmux } from "../../../support/host/private_tmux.ts";

/** Reads lines until its input ends, then ends with code 7. */
const READER = `sh -c 'cat > lines; exit 7'`;
/** Writes the signals that it gets, and ends with code 3 on SIGTERM. */
const LISTENER = String.raw`
trap 'echo int >> signals' INT
trap 'echo term >> signals; kill $!; exit 3' TERM
tail -f /dev/null & echo ready > signals
while :; do wait $!; done
`;

/** A daemon, and the command line that runs `mesh run` in a pane and then writes its exit code. */
async function fixture(terminal: Terminal) {
  const daemon = await RealDaemon.start(terminal.dir);
  const mesh = meshCommand(["run"]).join(" ");
  const state = `MESH_STATE=${terminal.dir} MESH_CONFIG=/none`;
  return {
    daemon,
    commandOf: (run: string) =>
      `sh -c 'trap : INT; cd ${terminal.dir}; ${state} ${mesh} ${run.replaceAll("'", `'\\''`)}; ` +
      `echo $? > code; exec cat'`,
    code: () => until("the exit code", () => terminal.read("code").trim()),
    peer: async (name: string): Promise<Record<string, unknown>> => {
      const response = await fetch(`${daemon.base}/peers/${name}`);
      return await response.json();
    },
    send: async (to_peer: string, text: string) => {
      const body = JSON.stringify({ from_peer: "tester", to_peer, text });
      const response = await fetch(`${daemon.base}/notify`, { method: "POST", body });
      assert.equal(response.status, 200, await response.text());
    },
    async [Symbol.asyncDispose]() {
      terminal.killServer();
      await daemon.stop();
    },
  };
}

/** The record of a peer, once it is online. */
function online(f: Awaited<ReturnType<typeof fixture>>, name: string) {
  return until(`${name} online`, async () => {
    const peer = await f.peer(name);
    return peer["status"] === "online" && peer;
  });
}

withTmux("a program run in a pane reads messages, and is offline once it has ended", async (t) => {
  await using f = await fixture(t);
  const pane = t.start(f.commandOf(`--name db -- ${READER}`));
  const peer = await online(f, "db");
  assert.deepEqual(
    [peer["pane_id"], peer["backend"], peer["circle"], peer["tmux_socket"]],
    [pane, "generic", "work", t.socket],
  );
  await f.send("db", "Which tables are there?");
  await until("the message", () => t.read("lines").includes("Which tables are there?"));
  t.cli("send-keys", "-t", pane, "C-d");
  assert.equal(await f.code(), "7");
  assert.equal((await f.peer("db"))["status"], "offline");
});

withTmux("Ctrl-C reaches the program once, and SIGTERM is passed on", async (t) => {
  await using f = await fixture(t);
  Deno.writeTextFileSync(`${t.dir}/listener.sh`, LISTENER);
  const pane = t.start(f.commandOf("-- sh listener.sh"));
  const peer = await online(f, "sh");
  await until("the program", () => t.read("signals").includes("ready"));
  t.cli("send-keys", "-t", pane, "C-c");
  await until("the interrupt", () => t.read("signals").includes("int"));
  Deno.kill(Number(peer["agent_pid"]), "SIGTERM");
  assert.equal(await f.code(), "3");
  assert.equal(t.read("signals"), "ready\nint\nterm\n");
});

/** As a kitty without remote control runs the command line, with a tmux server of its own. */
function outsideOfTmux(t: Terminal, command: string): string {
  const kitty = `TERM=xterm-kitty KITTY_WINDOW_ID=3 KITTY_LISTEN_ON=unix:${t.dir}/none`;
  const outside = `env -u TMUX -u TMUX_PANE -u TERM_PROGRAM ${kitty} ` +
    `TMUX_TMPDIR=${t.dir} WORD=given MESH_STATE`;
  return command.replace("MESH_STATE", outside);
}

withTmux("outside of tmux a program gets a session of its own, on this terminal", async (t) => {
  await using f = await fixture(t);
  const program = `sh -c 'echo "$WORD in $PWD" > seen; exec cat'`;
  const pane = t.start(outsideOfTmux(t, f.commandOf(`--name db -- ${program}`)));
  const peer = await online(f, "db");
  assert.equal(peer["tmux_session"], "db");
  await until("the program", () => t.read("seen"));
  assert.equal(t.read("seen"), `given in ${Deno.realPathSync(t.dir)}\n`);
  t.cli("send-keys", "-t", pane, "C-d");
  assert.equal(await f.code(), "0");
  assert.equal((await f.peer("db"))["status"], "offline");
});

withTmux("a program keeps running when its user detaches from its session", async (t) => {
  await using f = await fixture(t);
  const pane = t.start(outsideOfTmux(t, f.commandOf("--name db -- cat")));
  const peer = await online(f, "db");
  await until("the session", () => t.screen(pane).includes("[db]"));
  t.cli("send-keys", "-t", pane, "C-b", "d");
  assert.equal(await f.code(), "0");
  assert.match(t.screen(pane), /db keeps running in the tmux session db/);
  assert.equal((await f.peer("db"))["status"], "online");
  Deno.kill(Number(peer["agent_pid"]), "SIGTERM");
  await until("db offline", async () => (await f.peer("db"))["status"] === "offline");
});

withTmux("a program that a peer starts does not take the peer's own pane", async (t) => {
  await using f = await fixture(t);
  const inner = `${f.commandOf("-- cat")}`.replaceAll("'", `'\\''`);
  t.start(f.commandOf(`--name outer -- sh -c '${inner}'`));
  assert.equal(await f.code(), "1");
  assert.equal((await f.peer("outer"))["status"], "online");
});

const KEYS = { keys: async function* () {} };

Deno.test("mesh run refuses a shell, which would run messages as commands", async () => {
  await using d = answeringDaemon({ "GET /health": () => HEALTH });
  for (const shell of [["bash"], ["/bin/sh", "-i"], ["zsh", "-l"]]) {
    const { code, err } = await d.mesh(["run", ...shell], KEYS);
    assert.equal(code, 2);
    assert.match(err, /is a shell, which would run each message as a command/);
  }
});

Deno.test("mesh run says why it cannot run a program", async () => {
  await using d = answeringDaemon({ "GET /health": () => HEALTH });
  const PATH = Deno.env.get("PATH") ?? "";
  const piped = await d.mesh(["run", "cat"], {}, { PATH });
  assert.deepEqual([piped.code, /needs a terminal/.test(piped.err)], [1, true]);
  const unknown = await d.mesh(["run", "--", "no-such-program", "--name", "x"], KEYS);
  assert.deepEqual([unknown.code, /not installed/.test(unknown.err)], [127, true]);
  const nobody = { MESH_DAEMON__PORT: deadPort(), PATH };
  assert.equal((await d.mesh(["run", "cat"], KEYS, nobody)).code, 3);
  assert.equal((await d.mesh(["run"], KEYS)).code, 2);
});

Deno.test("mesh run names the installed agents in place of a missing or misspelled one", async () => {
  await using d = answeringDaemon();
  const { PATH } = agentWithoutTmux(d.dir);
  const { code, err } = await d.mesh(["run", "cluade"], {}, { PATH });
  assert.equal(code, 127);
  assert.match(
    err,
    /"cluade" is not installed, or not on the PATH\. Did you mean: mesh run claude/,
  );
  const other = await d.mesh(["run", "codex", "--detach"], {}, { PATH });
  assert.match(other.err, /"codex" is not installed, or not on the PATH\. On the PATH are: claude/);
  const none = await d.mesh(["run", "codex"], {}, { PATH: "/missing" });
  assert.match(none.err, /"codex" is not installed, or not on the PATH; install it first/);
});

Deno.test("mesh without a daemon shows how to start an agent that is installed", async () => {
  using dir = temporary();
  Deno.writeTextFileSync(`${dir.path}/codex`, "#!/bin/sh\n", { mode: 0o755 });
  const env = { HOME: dir.path, MESH_STATE: dir.path, MESH_DAEMON__PORT: deadPort() };
  for (const [PATH, program] of [[dir.path, "codex"], ["/missing", "claude"]] as const) {
    const { terminal, lines } = capturedTerminal();
    assert.equal(await runCli([], { ...env, PATH }, terminal), 0);
    assert.ok(lines.out.includes(`  mesh run ${program} `), lines.out);
  }
});

Deno.test("mesh run refuses a wrong name, tag or folder before it changes anything", async () => {
  using dir = temporary();
  const env = { MESH_STATE: `${dir.path}/state`, ...agentWithoutTmux(dir.path) };
  Deno.writeTextFileSync(`${dir.path}/bin/tmux`, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  for (
    const [flag, word, code, text] of [
      ["--tag", "A b", 2, /--tag "A b": A tag is 1 to 32 lowercase letters/],
      ["--name", "a/b", 2, /--name "a\/b": A name is 1 to 64 letters/],
      ["--circle", "..", 2, /--circle "\.\.": A name is/],
      ["--in", "/missing/folder", 1, /"\/missing\/folder" is not a folder; name an existing one/],
    ] as const
  ) {
    const { terminal, lines } = capturedTerminal({});
    assert.equal(
      await runCli(["run", "claude", "--yes", "--detach", flag, word], env, terminal),
      code,
    );
    assert.match(lines.err, text);
    assert.deepEqual([...Deno.readDirSync(dir.path)].map(({ name }) => name), ["bin"]);
  }
});

Deno.test("each of several agents gets a name of its own, also before the first has registered", async () => {
  const spawn_id = "spawn-000000000001";
  const names: string[] = [];
  const spawned = () => ({
    ok: true,
    spawn_id,
    display_name: names.at(-1),
    pane_id: "%1",
    tmux_socket: "/missing/tmux",
    tmux_session: "default",
    registration_state: "registered",
    seed_state: null,
    warnings: [],
  });
  await using d = answeringDaemon({
    "GET /health": () => ({ ...HEALTH, pid: Deno.pid }),
    "GET /peers": () => ({
      peers: [
        { ...PEER, name: "claude-2" },
        { ...PEER, name: "claude-3", status: "retired" },
        { ...PEER, name: "claude-4", status: "offline" },
      ],
      next: null,
    }),
    [`GET /peers/${PEER.peer_id}`]: () => PEER,
    [`GET /spawns/${spawn_id}`]: () => ({ ...spawned(), peer_id: PEER.peer_id, waits_for: null }),
    "POST /spawn": ({ body }) => {
      names.push(z.object({ name: z.string() }).parse(body).name);
      return spawned();
    },
  });
  writeRuntimeFile(d.env, { pid: Deno.pid, url: d.url, started_at: "2026-11-29T00:00:00.000Z" });
  const { PATH, HOME } = agentWithoutTmux(d.dir);
  Deno.writeTextFileSync(`${d.dir}/bin/tmux`, "#!/bin/sh\n", { mode: 0o755 });
  const args = ["run", "claude", "-n", "3", "--detach", "--yes"];
  const { out, err } = await d.mesh(args, {}, { PATH, HOME });
  assert.equal(err, "");
  assert.deepEqual(names, ["claude", "claude-3", "claude-5"]);
  assert.match(out, /^claude {2}starts[^]*^claude-3 {2}starts[^]*^claude-5 {2}starts/m);
});

/** A folder with an agent that writes its process id, its folder and its words. It has no tmux. */
function agentWithoutTmux(dir: string): { PATH: string; HOME: string } {
  const bin = `${dir}/bin`;
  Deno.mkdirSync(bin);
  const script = `#!/bin/sh
echo "$$ $PWD $*" > ${dir}/started
while [ ! -e ${dir}/go ]; do /bin/sleep 0.02; done
`;
  Deno.writeTextFileSync(`${bin}/claude`, script, { mode: 0o755 });
  return { PATH: bin, HOME: dir };
}

Deno.test("without tmux an agent gets its folder, words, name and tag, and nobody else does", async () => {
  using dir = temporary();
  await using daemon = await RealDaemon.start(dir.path);
  const env = { MESH_STATE: dir.path, MESH_CONFIG: `${dir.path}/config.yaml` };
  const register = async (name: string, agent_pid: number) => {
    const body = JSON.stringify({ name, path: dir.path, backend: "claude-code", agent_pid });
    const response = await fetch(`${daemon.base}/peers`, { method: "POST", body });
    return (await response.json()).peer_id;
  };
  const peer = async (peer_id: string) =>
    await (await fetch(`${daemon.base}/peers/${peer_id}`)).json();
  const other = await register("other", Deno.pid);
  const folder = `${dir.path}/project`;
  Deno.mkdirSync(folder);
  const { terminal, lines } = capturedTerminal(KEYS);
  const flags = ["--name", "api", "--tag", "backend", "--in", folder];
  const args = ["run", "claude", "--yes", ...flags, "--", "--model", "opus"];
  const running = runCli(args, { ...env, ...agentWithoutTmux(dir.path) }, terminal);
  const started = await until(
    "the agent",
    () => readTextOrNothing(`${dir.path}/started`)?.trim().split(" "),
  );
  assert.deepEqual(started.slice(1), [folder, "--model", "opus"]);
  const own = await register("claude", Number(started[0]));
  await until("its name", async () => (await peer(own)).name === "api");
  assert.deepEqual((await peer(own)).tags, ["backend"]);
  Deno.writeTextFileSync(`${dir.path}/go`, "");
  assert.deepEqual([await running, lines.err, (await peer(other)).name], [0, "", "other"]);
});

Deno.test("without tmux, what needs a pane is refused by its flag before anything is changed", async () => {
  using dir = temporary();
  const env = { MESH_STATE: `${dir.path}/state`, ...agentWithoutTmux(dir.path) };
  const files = () => [...Deno.readDirSync(dir.path)].map(({ name }) => name);
  const run = async (keys: typeof KEYS | Record<string, never>, ...flags: string[]) => {
    const { terminal, lines } = capturedTerminal(keys);
    const code = await runCli(["run", "claude", "--yes", ...flags], env, terminal);
    assert.deepEqual([code, files()], [1, ["bin"]], flags.join(" "));
    return lines.err;
  };
  for (const flags of [["-n", "3"], ["--detach"], ["--profile", "quick"], ["--circle", "blue"]]) {
    const shown = flags[0] === "-n" ? "-n 3" : flags[0];
    const text = `mesh: ${shown} needs tmux, which is not on the PATH. Install tmux, or run`;
    assert.ok((await run(KEYS, ...flags)).includes(text), shown);
  }
  const missing = await run(KEYS, "--in", "/missing/folder");
  assert.match(missing, /"\/missing\/folder" is not a folder; name an existing one with --in/);
  assert.match(await run({}), /Without tmux, claude runs in the terminal of this command/);
});
