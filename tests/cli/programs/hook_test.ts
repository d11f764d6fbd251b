/** `mesh hook` as a process: it forwards events, and reports failures only in its log. */

import assert from "node:assert/strict";
import { getRole, ROLES } from "../../../cli/programs/roles.ts";
import { announceSession } from "../../../cli/programs/hook.ts";
import { readTextOrNothing } from "../../../daemon/host/paths.ts";
import { meshArguments } from "../../support/programs/program.ts";

const PAYLOAD = { session_id: "s-1", hook_event_name: "UserPromptSubmit", prompt: "ümläute ⏎" };

/** A temporary state directory. */
class Home implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-hook-" });
  readonly env = { MESH_STATE: this.dir };

  write(path: string, text: string): void {
    Deno.writeTextFileSync(`${this.dir}/${path}`, text, { mode: 0o600 });
  }

  /** The hook's log; empty when there is none. */
  get log(): string {
    return readTextOrNothing(`${this.dir}/hook.log`) ?? "";
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

interface HookResult {
  readonly code: number;
  readonly out: string;
  readonly ms: number;
}

/** Runs `mesh hook` as an agent does. */
async function hook(
  home: Home,
  env: Record<string, string> = {},
  event: string | null = "UserPromptSubmit",
  agent = "claude-code",
  payload: Readonly<Record<string, unknown>> = PAYLOAD,
): Promise<HookResult> {
  const began = performance.now();
  const child = new Deno.Command(Deno.execPath(), {
    args: meshArguments(["hook", agent, ...(event === null ? [] : [event])]),
    env: { ...home.env, ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(payload)));
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  assert.equal(new TextDecoder().decode(stderr), "");
  return { code, out: new TextDecoder().decode(stdout), ms: performance.now() - began };
}

/** A server in place of the daemon, which records its requests. */
function fakeDaemon(home: Home, answer: () => Response | Promise<Response>, more = {}) {
  const requests: { headers: Headers; body: unknown }[] = [];
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => undefined };
  const server = Deno.serve(options, async (request) => {
    requests.push({ headers: request.headers, body: await request.json() });
    return await answer();
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  home.write("daemon.json", JSON.stringify({ pid: Deno.pid, url, started_at: "", ...more }));
  home.write("hook.token", "tok-hook\n");
  return { requests, [Symbol.asyncDispose]: () => server.shutdown() };
}

Deno.test("a hook forwards its event with its identity, and prints the answer", async () => {
  using home = new Home();
  await using daemon = fakeDaemon(home, () => Response.json({ answered: true }));
  const env = { CLAUDE_PID: "4242", TMUX_PANE: "%7", TMUX: "/missing/sock,1,0" };
  const { code, out } = await hook(home, env);
  assert.deepEqual([code, JSON.parse(out)], [0, { answered: true }]);
  const [request] = daemon.requests;
  assert.deepEqual(request?.body, PAYLOAD);
  const headerNames = ["authorization", "x-mesh-agent-pid", "x-mesh-pane", "x-mesh-tmux"];
  assert.deepEqual(headerNames.map((name) => request?.headers.get(name)), [
    ...["Bearer tok-hook", "4242", "%7", "/missing/sock,1,0"],
  ]);
});

Deno.test("a hook in a kitty window names the window, also if kitty was started in tmux", async () => {
  using home = new Home();
  await using daemon = fakeDaemon(home, () => Response.json({}));
  const kitty = { KITTY_LISTEN_ON: "unix:/run/kitty", KITTY_WINDOW_ID: "3", TERM: "xterm-kitty" };
  await hook(home, { ...kitty, TMUX_PANE: "%7", TMUX: "/missing/sock,1,0" });
  const [request] = daemon.requests;
  const headerNames = ["x-mesh-pane", "x-mesh-kitty", "x-mesh-tmux"];
  const headers = headerNames.map((name) => request?.headers.get(name));
  assert.deepEqual(headers, ["3", "kitty:/run/kitty", null]);
});

Deno.test("a hook forwards a long event, and prints a long answer", async () => {
  using home = new Home();
  const long = "ü".repeat(300_000);
  await using daemon = fakeDaemon(home, () => Response.json({ long }));
  const payload = { ...PAYLOAD, prompt: long };
  const { code, out } = await hook(home, {}, "UserPromptSubmit", "claude-code", payload);
  assert.deepEqual([code, JSON.parse(out)], [0, { long }]);
  assert.deepEqual(daemon.requests.map(({ body }) => body), [payload]);
});

Deno.test("a hook without a daemon, or with the daemon.json of a dead one, prints nothing", async () => {
  using home = new Home();
  assert.deepEqual(await hook(home).then(({ code, out }) => [code, out]), [0, ""]);
  const notice = { pid: 4_000_000, url: "http://127.0.0.1:9", started_at: "" };
  home.write("daemon.json", JSON.stringify(notice));
  assert.deepEqual(await hook(home).then(({ code, out }) => [code, out]), [0, ""]);
  assert.equal(home.log, "");
});

Deno.test("a hook without a daemon removes the marker that a killed one has left", async () => {
  using home = new Home();
  Deno.mkdirSync(`${home.dir}/urgent`);
  for (const agent of ["codex", "gemini"]) home.write(`urgent/${agent}`, "");
  const payload = { session_id: "s-1", hook_event_name: "PostToolUse" };
  const { code, out } = await hook(home, {}, "PostToolUse", "codex", payload);
  assert.deepEqual([code, out, home.log], [0, "", ""]);
  assert.deepEqual(Array.from(Deno.readDirSync(`${home.dir}/urgent`), ({ name }) => name), [
    "gemini",
  ]);
});

Deno.test("a hook sends nothing when the daemon's pid was reused by another process", async () => {
  using home = new Home();
  const process_started = "1"; // The start time of the machine's first process, not of this one.
  await using daemon = fakeDaemon(home, () => Response.json({}), { process_started });
  assert.deepEqual(await hook(home).then(({ code, out }) => [code, out]), [0, ""]);
  assert.deepEqual(daemon.requests, []);
});

Deno.test("a hook of an agent that is a peer by other means sends nothing", async () => {
  using home = new Home();
  await using daemon = fakeDaemon(home, () => Response.json({}));
  assert.deepEqual(await hook(home, { MESH_HOOKS: "off" }).then(({ code, out }) => [code, out]), [
    0,
    "",
  ]);
  assert.deepEqual(daemon.requests, []);
});

Deno.test("a failing daemon is reported only in the hook's log", async () => {
  using home = new Home();
  await using _daemon = fakeDaemon(home, () => new Response("oops", { status: 500 }));
  assert.deepEqual(await hook(home).then(({ code, out }) => [code, out]), [0, ""]);
  assert.match(home.log, /UserPromptSubmit: The daemon returned 500/);
});

Deno.test("a hook gives up on a daemon that does not answer, and logs it", async () => {
  using home = new Home();
  const { promise: never, resolve } = Promise.withResolvers<Response>();
  await using _daemon = fakeDaemon(home, () => never);
  const { code, out, ms } = await hook(home);
  resolve(Response.json({}));
  assert.deepEqual([code, out], [0, ""]);
  assert.match(home.log, /UserPromptSubmit: The daemon did not answer in time/);
  assert(ms >= 1_400 && ms < 3_000, `${ms} ms`);
});

Deno.test("only a permission request waits for the human, for as long as daemon.json says", async () => {
  using home = new Home();
  const pending: PromiseWithResolvers<Response>[] = [];
  const answer = () => {
    const line = Promise.withResolvers<Response>();
    pending.push(line);
    return line.promise;
  };
  await using daemon = fakeDaemon(home, answer, { approval_seconds: 1 });
  const named = { ...PAYLOAD, hook_event_name: "PermissionRequest" };
  const [permission, unnamed, prompt] = await Promise.all([ // Side by side: each only waits.
    hook(home, {}, "PermissionRequest"),
    hook(home, {}, null, "claude-code", named),
    hook(home),
  ]);
  assert.deepEqual([permission.code, permission.out], [0, ""]);
  assert(permission.ms >= 2_400 && permission.ms < 4_500, `${permission.ms} ms`);
  assert(unnamed.ms >= 2_400 && unnamed.ms < 4_500, `the payload says so: ${unnamed.ms} ms`);
  assert(prompt.ms >= 1_400 && prompt.ms < 2_400, `${prompt.ms} ms`);
  assert.equal(daemon.requests.length, 3);
  for (const line of pending) line.resolve(Response.json({}));
});

Deno.test("Copilot CLI's events get their name added, and its permission requests wait", async () => {
  using home = new Home();
  await using daemon = fakeDaemon(home, () => Response.json({ behavior: "deny" }));
  const asked = await hook(home, { MESH_AGENT_PID: "4242" }, "permissionRequest", "copilot");
  assert.deepEqual(JSON.parse(asked.out), { behavior: "deny" });
  const [request] = daemon.requests;
  assert.deepEqual(request?.body, { ...PAYLOAD, hookName: "permissionRequest" });
  assert.equal(request?.headers.get("x-mesh-agent-pid"), "4242");
});

Deno.test("mesh mcp announces a Copilot CLI session, and logs failures", async () => {
  using home = new Home();
  const env = { ...home.env, COPILOT_AGENT_SESSION_ID: "s-1", TMUX_PANE: "%7" };
  await announceSession(env); // No daemon is running.
  let status = 200;
  await using daemon = fakeDaemon(home, () => Response.json({}, { status }));
  await announceSession(home.env); // This is not a Copilot session.
  await announceSession(env);
  assert.equal(daemon.requests.length, 1);
  const [request] = daemon.requests;
  assert.deepEqual(request?.body, { hookName: "arrived", sessionId: "s-1", cwd: Deno.cwd() });
  const headerNames = ["x-mesh-agent-pid", "x-mesh-pane"].map((name) => request?.headers.get(name));
  assert.deepEqual(headerNames, [String(Deno.ppid), "%7"]);
  assert.equal(home.log, "");
  status = 500;
  await announceSession(env);
  assert.match(home.log, /copilot announcement: The daemon returned 500/);
});

Deno.test("a hook starts with any arguments; only `--help` alone goes to the CLI", () => {
  for (const args of [[], ["bogus"], ["--help", "x"], ["claude-code", "--help"]]) {
    assert.equal(getRole(["hook", ...args]), ROLES.hook, args.join(" "));
  }
  assert.equal(getRole(["hook", "--help"]), undefined);
  assert.equal(getRole(["hook", "-h"]), undefined);
});
