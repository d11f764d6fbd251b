/** The hook's script does as `mesh hook` does: the same requests, answers and exit codes. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { AGENTS, definitionOf } from "../../../daemon/features/agents/registry.ts";
import { hookScript } from "../../../daemon/features/agents/hooks/hook_script.ts";
import { readTextOrNothing } from "../../../daemon/host/paths.ts";
import { startTimeOf } from "../../../daemon/host/processes.ts";
import { writeRuntimeFile } from "../../../daemon/host/runtime_file.ts";
import { hookCommands, HOOKED_AGENTS } from "../../support/agents/hook_commands.ts";
import { planOf } from "../../support/agents/setup_plan.ts";
import { isMissing, outputOf } from "../../support/packaging/installed_package.ts";
import { meshArguments, meshCommand } from "../../support/programs/program.ts";
import { until } from "../../support/waiting.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("latin1");
const OK = response("200 OK", '{"answered":"ümlaut \\" \\n"}');

function response(status: string, body: string): Uint8Array {
  const bytes = encoder.encode(body);
  const head = `HTTP/1.0 ${status}\r\ncontent-length: ${bytes.length}\r\n\r\n`;
  return new Uint8Array([...encoder.encode(head), ...bytes]);
}

/** A request as the server gets it; the pid of the hook is left out, since each has its own. */
interface Recorded {
  readonly line: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A server in place of the daemon. It reads a whole request, then sends some bytes, and closes. */
class Server implements AsyncDisposable {
  readonly requests: Recorded[] = [];
  /** The events that the requests name in their headers; only the script does. */
  readonly events: string[] = [];
  /** Undefined to keep the connection open without an answer. */
  answer: Uint8Array | undefined = OK;
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #open = new Set<Deno.Conn>();
  readonly #ended = this.#serve();

  get url(): string {
    const { hostname, port } = this.#listener.addr as Deno.NetAddr;
    return `http://${hostname}:${port}`;
  }

  async #serve(): Promise<void> {
    const all: Promise<void>[] = [];
    for await (const connection of this.#listener) all.push(this.#handle(connection));
    await Promise.all(all);
  }

  async #handle(connection: Deno.Conn): Promise<void> {
    this.#open.add(connection);
    const request = await readRequest(connection);
    const { "x-mesh-event": event, "x-mesh-hook-pid": _, ...headers } = request?.headers ?? {};
    if (request) this.requests.push({ ...request, headers });
    if (event !== undefined) this.events.push(event);
    const { answer } = this;
    if (answer === undefined) return;
    for (let at = 0; at < answer.length;) at += await connection.write(answer.subarray(at));
    this.#close(connection);
  }

  #close(connection: Deno.Conn): void {
    if (this.#open.delete(connection)) connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const connection of this.#open) this.#close(connection);
    await this.#ended;
  }
}

async function readRequest(connection: Deno.Conn): Promise<Recorded | undefined> {
  let text = "";
  const chunk = new Uint8Array(65_536);
  while (true) {
    const count = await connection.read(chunk);
    if (count === null) return undefined;
    text += decoder.decode(chunk.subarray(0, count));
    const end = text.indexOf("\r\n\r\n");
    if (end < 0) continue;
    const [line = "", ...fields] = text.slice(0, end).split("\r\n");
    const headers = Object.fromEntries(fields.map((field) => {
      const [name = "", value = ""] = field.split(/: (.*)/s);
      return [name.toLowerCase(), value];
    }));
    const body = text.slice(end + 4);
    if (body.length < Number(headers["content-length"])) continue;
    return { line, headers, body };
  }
}

/** A state directory with a daemon's files, and scripts of all agents. */
class Home implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-script-" });

  constructor() {
    for (const definition of AGENTS) {
      const text = hookScript(definition, meshCommand([]));
      if (text) Deno.writeTextFileSync(`${this.dir}/${definition.id}.hook`, text);
    }
    Deno.writeTextFileSync(`${this.dir}/hook.token`, "tok-hook");
  }

  daemon(url: string, more: Readonly<Record<string, unknown>> = {}): void {
    const info = { pid: Deno.pid, process_started: startTimeOf(Deno.pid), url, started_at: "" };
    Deno.writeTextFileSync(`${this.dir}/daemon.json`, JSON.stringify({ ...info, ...more }));
  }

  takeLog(): string[] {
    const path = `${this.dir}/hook.log`;
    const lines = (readTextOrNothing(path) ?? "").split("\n").filter(Boolean);
    if (lines.length > 0) Deno.removeSync(path);
    return lines.map((line) => JSON.parse(line).what);
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

interface Event {
  readonly agent: string;
  readonly event: string;
  readonly payload: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
}

interface HookResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a form of the hook, with nothing else of this process's environment. */
async function run(
  form: "script" | "program",
  home: Home,
  { agent, event, payload, env = {} }: Event,
): Promise<HookResult> {
  const [program, args] = form === "script"
    ? ["bash", ["-p", `${home.dir}/${agent}.hook`, event]]
    : [Deno.execPath(), meshArguments(["hook", agent, event])];
  const { PATH = "", DENO_DIR = "", HOME = "" } = Deno.env.toObject();
  const child = new Deno.Command(program, {
    args,
    env: { PATH, HOME, ...(DENO_DIR && { DENO_DIR }), MESH_STATE: home.dir, ...env },
    clearEnv: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(typeof payload === "string" ? encoder.encode(payload) : payload);
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

/** The request after what `mesh hook` does itself, and the daemon does for the script. */
function completed(form: "script" | "program", request: Recorded, { agent, event }: Event) {
  const rewrite = form === "script" ? definitionOf(agent)?.hooks?.rewrite?.(event) : undefined;
  if (!rewrite) return request;
  const body = JSON.stringify(rewrite(JSON.parse(request.body)));
  const headers = { ...request.headers, "content-length": String(body.length) };
  return { ...request, headers, body };
}

/** Runs both forms, and compares results, requests and logs. Returns the common request. */
async function bothAgree(home: Home, server: Server, event: Event): Promise<Recorded | undefined> {
  const forms = ["script", "program"] as const;
  const results = [];
  for (const form of forms) {
    server.requests.length = 0;
    const result = await run(form, home, event);
    const requests = server.requests.map((request) => completed(form, request, event));
    results.push({ ...result, requests, log: home.takeLog() });
  }
  const [script, program] = results;
  assert.deepEqual(script, program);
  assert.deepEqual([script?.code, script?.err], [0, ""]);
  return script?.requests[0];
}

const SIMPLE = { agent: "claude-code", event: "Stop", payload: '{"session_id":"s-1"}' };

Deno.test("the script sends what `mesh hook` sends, for each event of each agent", async () => {
  using home = new Home();
  await using server = new Server();
  home.daemon(server.url);
  for (const agent of HOOKED_AGENTS) {
    const hooks = definitionOf(agent)?.hooks;
    assert.ok(hooks);
    for (const event of hookCommands(agent, planOf(["/opt/mesh"])).keys()) {
      const payload = JSON.stringify({
        session_id: "s-1",
        hook_event_name: event,
        llm_request: {},
      });
      const env = { [hooks.pid_variable]: "4242", TMUX_PANE: "%7", TMUX: "/missing/s,ock,1,0" };
      const request = await bothAgree(home, server, { agent, event, payload, env });
      assert.equal(request?.line, `POST /hooks/${agent} HTTP/1.0`);
      assert.equal(request?.headers["authorization"], "Bearer tok-hook");
      assert.equal(request?.headers["x-mesh-agent-pid"], "4242");
    }
  }
});

Deno.test({
  name: "shellcheck finds nothing in the script of any agent",
  ignore: isMissing("shellcheck"),
  fn() {
    using home = new Home();
    for (const agent of HOOKED_AGENTS) {
      outputOf("shellcheck", ["--shell", "bash", `${home.dir}/${agent}.hook`]);
    }
  },
});

Deno.test("the script reads the daemon's own file, and leaves an unusual one to mesh", async () => {
  using home = new Home();
  await using server = new Server();
  const url = server.url;
  const process = { pid: Deno.pid, process_started: startTimeOf(Deno.pid) };
  const script = `${home.dir}/claude-code.hook`;
  const withMesh = Deno.readTextFileSync(script);
  const posts = async () => {
    server.requests.length = 0;
    await run("script", home, SIMPLE);
    return server.requests.length;
  };
  Deno.writeTextFileSync(script, withMesh.replace(/^mesh=.*$/m, "mesh=(false)"));
  for (const more of [{}, { approval_seconds: 60 }]) {
    writeRuntimeFile({ MESH_STATE: home.dir }, { ...process, url, started_at: "", ...more });
    assert.equal(await posts(), 1);
  }
  for (
    const unusual of [{ url, ...process }, { pid: Deno.pid, url }, { ...process, more: 1, url }]
  ) {
    Deno.writeTextFileSync(`${home.dir}/daemon.json`, JSON.stringify(unusual));
    Deno.writeTextFileSync(script, withMesh.replace(/^mesh=.*$/m, "mesh=(false)"));
    assert.equal(await posts(), 0);
    Deno.writeTextFileSync(script, withMesh);
    assert.equal(await posts(), 1);
  }
});

Deno.test("the script names the event, with which the daemon completes the payload", async () => {
  using home = new Home();
  await using server = new Server();
  home.daemon(server.url);
  await run("script", home, { ...SIMPLE, agent: "copilot", event: "sessionStart" });
  assert.deepEqual(server.events, ["sessionStart"]);
});

/** Texts with all that a shell might take for its own. */
const HOSTILE = [
  `"'\`$(touch /tmp/never)\${HOME}\\`,
  "line one\nline two\r\n\ttab",
  "-n -e --",
  "*?[a-z]{1,2}~!#",
  "%s%d%n\\x41\\0",
  "\u0001\u001b[31m",
  "Grüße, 漢字, 🙂",
];

Deno.test("payloads arrive byte for byte, whatever they hold", async () => {
  using home = new Home();
  await using server = new Server();
  home.daemon(server.url);
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(...HOSTILE));
  const payload = fc.oneof(
    fc.record({ session_id: text, prompt: text }).map((value) => JSON.stringify(value)),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => bytes.filter((byte) => byte !== 0)),
    text.map((raw) => raw.replaceAll("\0", "")),
    fc.constantFrom("", "\n", "{}\n\n", "\r\n"),
  );
  await fc.assert(
    fc.asyncProperty(payload, async (payload) => {
      server.requests.length = 0;
      const { code, out, err } = await run("script", home, { ...SIMPLE, payload });
      const bytes = typeof payload === "string" ? encoder.encode(payload) : payload;
      assert.deepEqual([code, err, out], [0, "", decoder.decode(OK).split("\r\n\r\n")[1]]);
      assert.equal(server.requests[0]?.body, decoder.decode(bytes));
    }),
    { numRuns: 60 },
  );
  for (
    const payload of [
      "",
      "\xff\xfe{}",
      ...HOSTILE.map((prompt) => JSON.stringify({ prompt })),
    ]
  ) {
    await bothAgree(home, server, { ...SIMPLE, payload });
  }
});

Deno.test("a payload of a megabyte arrives whole, and the answer of one is printed whole", async () => {
  using home = new Home();
  await using server = new Server();
  home.daemon(server.url);
  server.answer = response("200 OK", JSON.stringify({ text: "ü".repeat(500_000) }));
  for (const length of [40_000, 990_000, 1_500_000]) {
    const payload = JSON.stringify({ session_id: "s", prompt: "ü".repeat(length / 2) });
    const request = await bothAgree(home, server, { ...SIMPLE, payload });
    assert.equal(request?.headers["content-length"], String(encoder.encode(payload).length));
  }
});

Deno.test("a hostile environment adds no header and runs nothing", async () => {
  using home = new Home();
  await using server = new Server();
  home.daemon(server.url);
  const values = ["%7\r\nX-Injected: yes", "$(touch /tmp/never)", "ü", " ", "a b", "-n", "%1;x"];
  for (const value of values) {
    const env = { TMUX_PANE: value, TMUX: value, CLAUDE_PID: value, KITTY_WINDOW_ID: value };
    const request = await bothAgree(home, server, { ...SIMPLE, env });
    assert.equal(request?.headers["x-injected"], undefined);
    const kitty = { ...env, KITTY_LISTEN_ON: `unix:/${value}`, TERM: "xterm-kitty" };
    await bothAgree(home, server, { ...SIMPLE, env: kitty });
  }
  const functions = { "BASH_FUNC_read%%": "() { echo injected; }", BASH_ENV: "/dev/stdin" };
  await bothAgree(home, server, { ...SIMPLE, env: functions });
});

Deno.test("panes of tmux, of kitty, and of one in the other are named as `mesh hook` names them", async () => {
  using home = new Home();
  await using server = new Server();
  home.daemon(server.url);
  const tmux = { TMUX: "/run/tmux/s,1,0", TMUX_PANE: "%3" };
  const kitty = { KITTY_LISTEN_ON: "unix:/run/kitty", KITTY_WINDOW_ID: "3" };
  const inner = { TERM: "xterm-kitty" };
  const places = [
    {},
    tmux,
    kitty,
    { ...tmux, ...kitty },
    { ...tmux, ...kitty, ...inner },
    { ...tmux, ...kitty, ...inner, TERM_PROGRAM: "tmux" },
    { ...kitty, KITTY_LISTEN_ON: "unix:@abstract" },
    { ...kitty, KITTY_LISTEN_ON: "tcp:127.0.0.1:1" },
    { TMUX_PANE: "%3" },
  ];
  for (const env of places) await bothAgree(home, server, { ...SIMPLE, env });
});

Deno.test("answers that are not the daemon's are logged alike, and never printed", async () => {
  using home = new Home();
  await using server = new Server();
  home.daemon(server.url);
  const answers = [
    "HTTP/1.0 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}",
    "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n",
    "no HTTP at all",
    "",
  ];
  for (const answer of answers) {
    server.answer = encoder.encode(answer);
    await bothAgree(home, server, SIMPLE);
  }
  const unlike = ["content-length: 5\r\n\r\nhello", "content-length: 50\r\n\r\n{}"];
  for (const rest of unlike) {
    server.answer = encoder.encode(`HTTP/1.0 200 OK\r\n${rest}`);
    for (const form of ["script", "program"] as const) {
      assert.deepEqual(await run(form, home, SIMPLE), { code: 0, out: "", err: "" });
      assert.equal(home.takeLog().length, 1, form);
    }
  }
});

Deno.test("without a daemon nothing is printed, and a marker that it left goes", async () => {
  using home = new Home();
  await using server = new Server();
  Deno.mkdirSync(`${home.dir}/urgent`);
  const marker = `${home.dir}/urgent/claude-code`;
  const states = [
    () => {}, // There is no `daemon.json`.
    () => home.daemon(server.url, { pid: 4_000_000 }),
    () => home.daemon(server.url, { process_started: "1" }),
  ];
  for (const prepare of states) {
    prepare();
    await bothAgree(home, server, SIMPLE);
    for (const form of ["script", "program"] as const) {
      Deno.writeTextFileSync(marker, "");
      await run(form, home, SIMPLE);
      assert.throws(() => Deno.statSync(marker), Deno.errors.NotFound, form);
    }
  }
  home.daemon("http://127.0.0.1:1"); // Its process runs, and nothing listens.
  await bothAgree(home, server, SIMPLE);
  assert.equal(server.requests.length, 0);
});

Deno.test("MESH_HOOKS=off and a state that cannot be found send nothing", async () => {
  using home = new Home();
  await using server = new Server();
  home.daemon(server.url);
  // More than a pipe holds: the agent writes it only if the script reads it.
  const payload = JSON.stringify({ session_id: "s-1", prompt: "x".repeat(200_000) });
  for (const env of [{ MESH_HOOKS: "off" }, { MESH_STATE: "relative" }, { MESH_STATE: "/none" }]) {
    const result = await run("script", home, { ...SIMPLE, payload, env });
    assert.deepEqual(result, { code: 0, out: "", err: "" });
  }
  assert.equal(server.requests.length, 0);
});

Deno.test("a daemon.json that is a folder is logged, and the payload is read nevertheless", async () => {
  using home = new Home();
  Deno.mkdirSync(`${home.dir}/daemon.json`);
  const payload = JSON.stringify({ session_id: "s-1", prompt: "x".repeat(200_000) });
  const result = await run("script", home, { ...SIMPLE, payload });
  assert.deepEqual(result, { code: 0, out: "", err: "" });
  assert.deepEqual(home.takeLog(), ["claude-code Stop: daemon.json is not a file"]);
});

Deno.test("a daemon that does not answer, or does not read, costs 1.5 s and a line in the log", async () => {
  using home = new Home();
  await using server = new Server();
  server.answer = undefined;
  home.daemon(server.url);
  const result = await run("script", home, SIMPLE);
  assert.deepEqual(result, { code: 0, out: "", err: "" });
  assert.deepEqual(home.takeLog(), ["claude-code Stop: The daemon did not answer in time"]);
  using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 }); // Its connections wait.
  home.daemon(`http://127.0.0.1:${silent.addr.port}`);
  const payload = JSON.stringify({ session_id: "s", prompt: "x".repeat(990_000) });
  assert.equal((await run("script", home, { ...SIMPLE, payload })).code, 0);
  assert.deepEqual(home.takeLog(), ["claude-code Stop: The daemon did not answer in time"]);
});

Deno.test("a payload that does not end costs 1.5 s and a line in the log", async () => {
  using home = new Home();
  const child = new Deno.Command("bash", {
    args: ["-p", `${home.dir}/claude-code.hook`, "Stop"],
    env: { MESH_STATE: home.dir },
    stdin: "piped",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(encoder.encode('{"session_id":'));
  assert.equal((await child.status).code, 0);
  await writer.close().catch(() => undefined);
  assert.deepEqual(home.takeLog(), ["claude-code Stop: The payload did not end in time"]);
});

Deno.test("a decision is awaited for the time that the daemon names", async () => {
  using home = new Home();
  await using server = new Server();
  server.answer = undefined;
  home.daemon(server.url, { approval_seconds: 1 });
  const waited: number[] = [];
  for (const event of ["Stop", "PermissionRequest"]) {
    const began = performance.now();
    await run("script", home, { ...SIMPLE, event });
    waited.push(performance.now() - began);
  }
  const [other = 0, decision = 0] = waited;
  assert.ok(other >= 1_400 && decision >= 2_900, waited.join(" "));
  assert.equal(definitionOf("claude-code")?.hooks?.decision_events[0], "PermissionRequest");
});

Deno.test("the script leaves no process behind that holds the agent's pipes", async () => {
  using home = new Home();
  await using server = new Server();
  home.daemon(server.url);
  const { out } = await run("script", home, SIMPLE); // Ends only when its output is closed.
  assert.notEqual(out, "");
  await until("no process reads the script", () => {
    const { stdout } = new Deno.Command("ps", { args: ["-eo", "args"] }).outputSync();
    return Promise.resolve(!new TextDecoder().decode(stdout).includes(home.dir));
  });
});
