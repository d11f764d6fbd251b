/** The launcher's script has the daemon run a command: the same output, exit code and effects. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { listDeliveries } from "protocol/messages/contract.ts";
import { listAsks } from "protocol/asks/contract.ts";
import { COMMANDS } from "../../cli/commands/generated/table.ts";
import { wordsOf } from "../../cli/command/line.ts";
import { runForProcess } from "../../cli/commands/daemon/served_command.ts";
import { startTimeOf } from "../../daemon/host/processes.ts";
import { writeLauncher } from "../../packaging/pack.ts";
import { client } from "kit/http/client.ts";
import { RealDaemon } from "../support/programs/child.ts";
import { serveDaemon } from "../support/cli/listening_daemon.ts";
import { isMissing, outputOf } from "../support/packaging/installed_package.ts";
import { meshCommand } from "../support/programs/program.ts";
import { addPeer } from "../support/daemon/peer_clients.ts";
import { world } from "../support/world.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** A mesh that says how it was started, in place of the program. */
const MESH = [
  "bash",
  "-c",
  `printf 'started %s' "\${MESH_UNANSWERED-}"; printf ' <%s>' "$@" "\${LC_ALL-}"; exit 99`,
  "mesh",
];

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A folder with the launcher's script, and the state directory of a daemon. */
class Home implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-launcher-" });
  readonly script = `${this.dir}/command.bash`;

  constructor() {
    writeLauncher(this.dir);
  }

  daemon(url: string, more: Readonly<Record<string, unknown>> = {}): void {
    const info = { pid: Deno.pid, process_started: startTimeOf(Deno.pid), url, started_at: "" };
    Deno.writeTextFileSync(`${this.dir}/daemon.json`, JSON.stringify({ ...info, ...more }));
  }

  get env(): Record<string, string> {
    const { PATH = "", DENO_DIR = "", HOME = "" } = Deno.env.toObject();
    const cache = DENO_DIR ? { DENO_DIR } : {};
    return { PATH, HOME, ...cache, MESH_STATE: this.dir, MESH_CONFIG: `${this.dir}/config.yaml` };
  }

  /** Runs the script with nothing else of this process's environment. */
  run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Run> {
    return this.start(["bash", "-p", this.script, String(args.length), ...MESH, ...args], env);
  }

  async start(
    [program = "", ...args]: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<Run> {
    const { code, stdout, stderr } = await new Deno.Command(program, {
      args,
      env: { ...this.env, ...env },
      clearEnv: true,
      stdin: "null",
    }).output();
    return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

/** A daemon that runs command lines, with a human and two agents, and the launcher's script. */
function launcherFixture(settings: Readonly<Record<string, string>> = {}) {
  const w = world({
    runCommandLine: runForProcess,
    settings: { "human.name": "sam", "daemon.limits.pair_per_minute": "0", ...settings },
  });
  const { mesh, stop, url } = serveDaemon(w);
  const home = new Home();
  home.daemon(url);
  return {
    w,
    home,
    url,
    /** Runs the whole command, as mesh does in a process of its own without a terminal. */
    whole: (args: readonly string[]): Promise<Run> => mesh(args),
    async prepare(): Promise<void> {
      for (const name of ["api", "web"]) {
        await addPeer(w, name);
      }
    },
    /** Asks and deliveries, without the times. */
    async state(): Promise<unknown> {
      const asks = await w.call(listAsks, { query: {} });
      const deliveries = await w.call(listDeliveries, { query: {} });
      return JSON.parse(
        JSON.stringify([asks, deliveries])
          .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "time"),
      );
    },
    async [Symbol.asyncDispose]() {
      home[Symbol.dispose]();
      await stop();
      await w[Symbol.asyncDispose]();
    },
  };
}

/** A server in place of the daemon, which answers each request with these bytes and counts it. */
function answering(bytes: string | undefined) {
  const requests: string[] = [];
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  const serve = async () => {
    for await (const connection of listener) {
      open.add(connection);
      const chunk = new Uint8Array(65_536);
      const count = await connection.read(chunk);
      requests.push(decoder.decode(chunk.subarray(0, count ?? 0)));
      if (bytes === undefined) continue;
      await connection.write(encoder.encode(bytes));
      connection.close();
      open.delete(connection);
    }
  };
  const ended = serve();
  return {
    requests,
    url: `http://127.0.0.1:${(listener.addr as Deno.NetAddr).port}`,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of open) connection.close();
      await ended;
    },
  };
}

/** Texts with all that a shell might take for its own. */
const HOSTILE = [
  `"'\`$(touch /tmp/never)\${HOME}\\`,
  "line one\nline two\r\n\ttab\n",
  "-n -e",
  "*?[a-z]{1,2}~!#",
  "%s%d%n\\x41\\0",
  "\u0001\u001b[31mred",
  "Grüße, 漢字, 🙂",
  " ",
];

Deno.test("a line gives the output, the exit code and the effects of the whole command", async () => {
  const text = fc.oneof(
    fc.constantFrom(...HOSTILE, "Which port?"),
    fc.string({ unit: "grapheme", minLength: 1 }),
  ).filter((text) => !text.includes("\0") && text.isWellFormed());
  const peer = fc.constantFrom("sam", "api", "web", "ap", "nobody", "@tag", "1234");
  const sender = fc.constantFrom([], ["--from", "api"], ["--from=nobody"]);
  const json = fc.constantFrom([], ["--json"]);
  const circle = fc.constantFrom([], ["--circle", "default"], ["--circle=none"]);
  const line = fc.oneof(
    fc.tuple(fc.constantFrom(["peers"], ["ls"]), circle, json),
    fc.tuple(fc.constant(["peers", "--all"]), fc.constantFrom([], ["--status", "online"]), json),
    fc.tuple(fc.constantFrom("ask", "notify", "send"), peer, text)
      .chain((words) => fc.tuple(fc.constant(words), circle, sender, json)),
    fc.tuple(fc.constant(["ask", "sam", "Yes?", "--option", "yes", "--option", "no"]), json),
    fc.tuple(fc.constantFrom("ack", "decline"), fc.constantFrom("ask-000000000001", "0001"), text)
      .chain((words) => fc.tuple(fc.constant(words), sender, json)),
    fc.tuple(text.map((text) => ["broadcast", text]), sender, json),
    fc.tuple(fc.constantFrom(["asks"], ["asks", "--all"]), sender, json),
  ).map((parts): string[] => parts.flat());
  await fc.assert(
    fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 6 }), async (lines) => {
      await using script = launcherFixture();
      await using program = launcherFixture();
      for (const fixture of [script, program]) await fixture.prepare();
      for (const args of lines) {
        const run = await script.home.run(args);
        // An unusual line, such as a text that looks like a flag, starts mesh.
        const shown = run.code === 99 ? await script.whole(args) : run;
        assert.deepEqual(shown, await program.whole(args), args.join(" "));
      }
      assert.deepEqual(await script.state(), await program.state());
    }),
    { numRuns: 40 },
  );
});

Deno.test("plain lines are run by the daemon, whatever their words hold", async () => {
  await using p = launcherFixture();
  await p.prepare();
  const texts = [...HOSTILE.map((text) => `Look: ${text}`), "x".repeat(100_000)];
  for (const text of texts) {
    const { code, out } = await p.home.run(["ask", "sam", text, "--from", "api"]);
    assert.deepEqual([code, /^ask-\w+ {2}accepted to sam\n$/.test(out)], [0, true], out);
  }
  const { asks } = await p.w.call(listAsks, { query: {} });
  assert.deepEqual(asks.map(({ text }) => text).sort(), texts.toSorted());
});

/** True if the script has started mesh with the same words and locale, as without it. */
function isStarted({ code, out, err }: Run, args: readonly string[], locale = ""): boolean {
  const words = [...args, locale].map((word) => `<${word}>`).join(" ");
  return code === 99 && err === "" && out === `started  ${words}`;
}

Deno.test("unusual lines, settings and daemons start mesh, and send nothing", async () => {
  await using p = launcherFixture();
  await using other = answering("HTTP/1.0 404 Not Found\r\ncontent-length: 2\r\n\r\n{}");
  const { home, url } = p;
  await p.prepare();
  const ask = ["ask", "sam", "Hi"];
  const lines = [
    [...ask, "--wait"],
    [...ask, "--attach", "/etc/hosts"],
    ["ask", "sam", "-"],
    [...ask, "--verbose"],
    [...ask, "--machine", "buildbox"],
    [...ask, "--help"],
    [...ask, "--unknown"],
    ["ask"],
    ["ask", "--", "sam", "-"],
  ];
  for (const line of lines) assert.ok(isStarted(await home.run(line), line), line.join(" "));
  const variables = [
    { MESH_MACHINE: "buildbox" },
    { MESH_DAEMON__PORT: "1" },
    { MESH_ASKS_TTL: "1" },
    { HOME: "relative" },
    { MESH_STATE: "relative" },
    { MESH_CONFIG: "relative" },
    { MESH_STATE: "/missing" },
  ];
  for (const env of variables) assert.ok(isStarted(await home.run(ask, env), ask), env.toString());
  const locale = { user_locale: "C.UTF-8", LC_ALL: "C" };
  const named = await home.run([...ask, "--wait"], locale);
  assert.ok(isStarted(named, [...ask, "--wait"], "C.UTF-8"), named.out);

  const before = { MESH_CONFIG: `${home.dir}/old.yaml` };
  Deno.writeTextFileSync(before.MESH_CONFIG, "human:\n  name: sam\n");
  assert.ok(isStarted(await home.run(ask, before), ask), "the file is newer than the daemon");
  Deno.utimeSync(before.MESH_CONFIG, 1, 1);
  assert.equal((await home.run(["peers"], before)).code, 0, "the daemon has read the file");

  const daemons = [
    [other.url, {}],
    [url, { pid: 4_194_305 }],
    [url, { process_started: "1" }],
    [url.replace("127.0.0.1", "example.com"), {}],
    [`${url.slice(0, -1)}${(Number(url.at(-1)) + 1) % 10}`, {}],
  ] as const;
  for (const [url, more] of daemons) {
    home.daemon(url, more);
    for (const env of [{}, { POSIXLY_CORRECT: "1" }]) {
      const run = await home.run(ask, env);
      assert.ok(isStarted(run, ask), JSON.stringify([url, more, env, run]));
    }
  }
  Deno.writeTextFileSync(`${home.dir}/daemon.json`, "[]");
  assert.ok(isStarted(await home.run(ask), ask), "daemon.json is malformed");
  assert.deepEqual((await p.w.call(listAsks, { query: {} })).asks, []);
});

Deno.test("the token is sent if its form is plain, and no other text of the file", async () => {
  const token = "tok_0123456789-abcdef";
  await using p = launcherFixture({ "daemon.auth_token": token });
  const env = { MESH_CONFIG: `${p.home.dir}/old.yaml` };
  const run = async (text: string) => {
    Deno.writeTextFileSync(env.MESH_CONFIG, text);
    Deno.utimeSync(env.MESH_CONFIG, 1, 1);
    const run = await p.home.run(["peers"], env);
    return isStarted(run, ["peers"]) ? "started" : run.code;
  };
  const plain = [
    `daemon:\n  auth_token: ${token}\n`,
    `human:\n  name: sam\ndaemon:\n  # for programs\n\n  port: 1\n  auth_token: "${token}"`,
    `daemon:\n  auth_token: ${token}\nhuman:\n  name: sam\n`,
    `daemon.auth_token: ${token}  \n`,
  ];
  for (const text of plain) assert.equal(await run(text), 0, text);
  const unusual = [
    "",
    `relay:\n  auth_token: ${token}\n`,
    `daemon:\n  port: 1\nrelay:\n  auth_token: ${token}\n`,
    `human:\n  name: |\n    daemon:\n      auth_token: ${token}\n`,
    `daemon:\n  auth_token: ${token}\n  # auth_token: another\n`,
    `daemon:\n  auth_token: '${token}'\n`,
    `daemon:\n  auth_token: ${token} # mine\n`,
    `daemon:\n  "auth\\x5ftoken": ${token}\n`,
    `{ daemon: { auth_token: ${token} } }\n`,
    "daemon:\n  auth_token: 1234567890123456\n",
    "daemon:\n  auth_token: 12345678901234e5\n",
    "daemon:\n  auth_token: short\n",
  ];
  for (const text of unusual) assert.equal(await run(text), "started", text);
});

Deno.test("invalid UTF-8 and closed streams are left to mesh", async () => {
  await using p = launcherFixture();
  const { home } = p;
  const command = `bash -p ${home.script} 3 ${MESH[0]} -c 'exit 99' mesh ask sam`;
  assert.equal((await home.start(["bash", "-c", `${command} $'a\\xff'`])).code, 99);
  assert.equal((await home.start(["bash", "-c", `${command} hi >&-`])).code, 99);
  assert.deepEqual((await p.w.call(listAsks, { query: {} })).asks, []);
});

Deno.test("a request without a whole answer is reported, and never sent again", async () => {
  const bodies = [
    "",
    "HTTP/1.0 200 OK\r\ncontent-length: 20\r\nx-mesh-exit-code: 0\r\nx-mesh-parts: 1:20\r\n\r\nask-",
    "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
    "HTTP/1.0 500 Internal Server Error\r\ncontent-length: 2\r\n\r\n{}",
    "garbage",
  ];
  for (const body of bodies) {
    using home = new Home();
    await using daemon = answering(body);
    home.daemon(daemon.url);
    const { code, out } = await home.run(["ask", "sam", "Hi"]);
    assert.deepEqual([code, out], [99, `started ${daemon.url} <ask> <sam> <Hi> <>`], body);
    assert.equal(daemon.requests.length, 1);
    assert.match(daemon.requests[0] ?? "", /^POST \/command-lines HTTP\/1\.0\r\n/);
  }
});

Deno.test("mesh says of an unanswered request what it says of its own, and sends nothing", async () => {
  await using p = launcherFixture();
  await using silent = answering("");
  for (const args of [["ask", "sam", "Hi"], ["notify", "sam", "Hi", "--json"], ["peers"]]) {
    p.home.daemon(silent.url);
    const own = await p.home.start(meshCommand(args));
    assert.ok(silent.requests.length > 0);
    p.home.daemon(p.url);
    const told = await p.home.start(meshCommand(args), { MESH_UNANSWERED: silent.url });
    assert.deepEqual([told, told.code], [own, 3]);
  }
  assert.deepEqual((await p.w.call(listAsks, { query: {} })).asks, []);
});

Deno.test("a reader that has closed the pipe is no error, and a full disk is one", async () => {
  await using p = launcherFixture();
  for (let n = 0; n < 100; n++) await addPeer(p.w, `${"n".repeat(60)}${n}`);
  const command = `bash -p ${p.home.script} 2 ${MESH[0]} -c 'exit 99' mesh peers --all`;
  const start = (line: string) => p.home.start(["bash", "-c", line]);
  const none = { code: 0, out: "", err: "" };
  assert.deepEqual(await start(`exec 6> >(exit); wait $!; ${command} >&6`), none);
  const { out } = await start(command);
  assert.equal(out, (await p.whole(["peers", "--all"])).out);
  assert.ok(out.length > 10_000);
  const err = "mesh: Cannot write the output\n";
  assert.deepEqual(await start(`${command} >/dev/full`), { code: 1, out: "", err });
});

Deno.test({
  name: "a terminal gets the widths and colours that the whole command gives it",
  ignore: isMissing("script"),
  async fn() {
    await using p = launcherFixture();
    await p.prepare();
    await addPeer(p.w, "far", { path: "/work/a/long/path/that/does/not/fit/into/the/terminal" });
    const quote = (words: readonly string[]) => words.map((word) => `'${word}'`).join(" ");
    const inTerminal = (size: string, command: string, env: Record<string, string>) =>
      p.home.start(["script", "-qec", `stty ${size}; ${command}`, "/dev/null"], {
        TERM: "xterm",
        ...env,
      });
    const places = [
      ["cols 60 rows 24", "", {}],
      ["cols 100 rows 24", "", { NO_COLOR: "1" }],
      ["cols 100 rows 24", "", { TERM: "dumb" }],
      ["cols 70 rows 24", "2>/dev/null", {}],
      ["cols 70 rows 24", "| cat", {}],
      ["cols 0 rows 24", "", {}],
      ["cols 80 rows 24", "", { COLUMNS: "50" }],
      ["cols 80 rows 0", "", {}],
    ] as const;
    for (const args of [["peers"], ["notify", "nobody", "Hi"]]) {
      for (const [size, redirection, env] of places) {
        const mesh = meshCommand(args);
        const script = ["bash", "-p", p.home.script, String(args.length), ...mesh];
        const run = (command: readonly string[]) =>
          inTerminal(size, `${quote(command)} ${redirection}`, env);
        assert.deepEqual(await run(script), await run(mesh), JSON.stringify([args, size, env]));
      }
    }
  },
});

Deno.test("the kernel proves the script's process, as it proves that of mesh", async () => {
  using home = new Home();
  const settings = { MESH_HUMAN__NAME: "sam" };
  await using daemon = await RealDaemon.start(home.dir, { settings });
  const payload = JSON.stringify({
    session_id: "s-1",
    cwd: "/work/api",
    hook_event_name: "SessionStart",
    source: "startup",
  });
  const quote = (words: readonly string[]) => words.map((word) => `'${word}'`).join(" ");
  const ask = ["ask", "sam", "Which port?"];
  const script = ["bash", "-p", home.script, String(ask.length), "false", ...ask];
  // The hook names this shell as the agent's process, which then runs both forms.
  const lines = [
    "export CLAUDE_PID=$$",
    `echo ${quote([payload])} | ${quote(meshCommand(["hook", "claude-code", "SessionStart"]))}`,
    quote(script),
    quote(meshCommand(ask)),
    "true",
  ];
  const { out, err } = await home.start(["bash", "-c", lines.join("\n")]);
  assert.match(out, /^\{\}(ask-\w+ {2}accepted to sam\n){2}$/, err);
  const { asks } = await client(daemon.base, fetch)(listAsks, { query: {} });
  const senders = asks.map(({ from_peer_name, unverified }) => [from_peer_name, unverified]);
  assert.deepEqual(senders, [["api-claude-code", false], ["api-claude-code", false]]);
});

Deno.test("the launcher hands exactly those commands to the script that the daemon may run", () => {
  const launcher = Deno.readTextFileSync(new URL("../../packaging/mesh", import.meta.url));
  const names = /^ +(\w+(?: \| \w+)+)\)$/m.exec(launcher)?.[1]?.split(" | ");
  const expected = COMMANDS.filter(({ runsInDaemon }) => runsInDaemon)
    .flatMap(({ usage, aliases = [] }) => [...wordsOf(usage), ...aliases]);
  assert.deepEqual(names, expected.toSorted());
});

Deno.test({
  name: "shellcheck finds nothing in the launcher and its script",
  ignore: isMissing("shellcheck"),
  fn() {
    using home = new Home();
    outputOf("shellcheck", ["--shell", "bash", home.script]);
    outputOf("shellcheck", [`${home.dir}/mesh`]);
  },
});
