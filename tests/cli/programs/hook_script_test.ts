/** The hook's script does as `mesh hook` does: the same requests, answers and exit codes. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { definitionOf } from "../../../daemon/features/agents/registry.ts";
import { startTimeOf } from "../../../daemon/host/processes.ts";
import { writeRuntimeFile } from "../../../daemon/host/runtime_file.ts";
import { hookCommands, HOOKED_AGENTS } from "../../support/agents/hook_commands.ts";
import {
  decoder,
  encoder,
  type Event,
  Home,
  OK,
  type Recorded,
  response,
  run,
  Server,
  SIMPLE,
} from "../../support/agents/hook_scripts.ts";
import { planOf } from "../../support/agents/setup_plan.ts";
import { isMissing, outputOf } from "../../support/packaging/installed_package.ts";

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
  server.requests.length = 0;
  await run("script", home, { ...SIMPLE, payload: '{"prompt":"a\0b"}' });
  assert.equal(server.requests[0]?.body, '{"prompt":"ab"}', "bash cannot hold NUL");
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
  for (const env of [{}, { POSIXLY_CORRECT: "1" }]) {
    await bothAgree(home, server, { ...SIMPLE, env });
  }
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
