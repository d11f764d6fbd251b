import assert from "node:assert/strict";
import { join } from "node:path";
import { urlOf } from "kit/host/http_listener.ts";
import { readRelayConfig } from "../../../relay/app/config.ts";
import { until } from "../../support/waiting.ts";
import { end } from "../../support/programs/child.ts";

const REPO_ROOT = join(import.meta.dirname ?? ".", "..", "..", "..");

/** A child process in a directory of its own; ended with the test. */
class Child implements AsyncDisposable {
  readonly process: Deno.ChildProcess;
  readonly #stderr: Promise<unknown>;
  stderr = "";

  constructor(command: string, cwd: string, env: Record<string, string>, repoRoot = REPO_ROOT) {
    const main = join(repoRoot, "main.ts");
    this.process = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--cached-only", "--config", join(repoRoot, "deno.json"), main, command],
      cwd,
      env: { ...env, MESH_CONFIG: join(cwd, "none.yaml"), NO_COLOR: "1" },
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const decoder = new TextDecoder();
    this.#stderr = this.process.stderr.pipeTo(
      new WritableStream({ write: (chunk) => void (this.stderr += decoder.decode(chunk)) }),
    );
  }

  async end(signal: Deno.Signal): Promise<number> {
    this.process.kill(signal);
    return (await this.process.status).code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await end(this.process, "SIGKILL");
    await this.#stderr;
  }
}

interface SetupFolder extends Disposable {
  readonly cwd: string;
  readonly state: string;
}

function setup(): SetupFolder {
  const cwd = Deno.makeTempDirSync();
  return {
    cwd,
    state: join(cwd, "state"),
    [Symbol.dispose]: () => Deno.removeSync(cwd, { recursive: true }),
  };
}

async function start({ cwd, state }: SetupFolder, repoRoot = REPO_ROOT) {
  const child = new Child("daemon", cwd, { MESH_STATE: state, MESH_DAEMON__PORT: "0" }, repoRoot);
  const { url, pid } = await until("daemon.json", () => notice(state));
  return { child, url: String(url), pid: Number(pid) };
}

function notice(state: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(Deno.readTextFileSync(join(state, "daemon.json")));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

async function post(url: string, path: string, body: unknown) {
  const response = await fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(body) });
  return await response.json();
}

/** A real socket, and the frames it has received. */
async function connect(url: string, display_name: string) {
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws`);
  const frames: Record<string, string>[] = [];
  socket.onmessage = ({ data }) => void frames.push(JSON.parse(data));
  await new Promise((resolve) => socket.onopen = resolve);
  socket.send(JSON.stringify({ type: "connect", display_name, backend: "sdk" }));
  const waitForFrame = (type: string) =>
    until(type, () => frames.find((frame) => frame.type === type));
  await waitForFrame("connected");
  return { socket, waitForFrame };
}

Deno.test("a daemon starts anywhere, writes its address, and carries an ask and its ack", async () => {
  using at = setup();
  const { child, url, pid } = await start(at);
  await using _ = child;
  const health = await (await fetch(`${url}/health`)).json();
  assert.deepEqual([health.status, health.pid, pid], ["ok", child.process.pid, child.process.pid]);
  assert.equal(Deno.statSync(join(at.state, "daemon.json")).mode! & 0o777, 0o600);

  const stream = await fetch(`${url}/events/stream?replay=0`);
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  assert.match((await reader.read()).value ?? "", /^event: ready\n/);

  const bob = await connect(url, "bob"), ada = await connect(url, "ada");
  const { correlation_id } = await post(url, "/ask", {
    from_peer: "ada",
    to_peer: "bob",
    text: "Ready?",
  });
  assert.equal((await bob.waitForFrame("ask"))["correlation_id"], correlation_id);
  bob.socket.send(JSON.stringify({ type: "ack", request_id: "1", correlation_id, message: "Yes" }));
  assert.equal((await ada.waitForFrame("ack"))["text"], "Yes");
  let received = "";
  await until("the ack's event", async () => {
    received += (await reader.read()).value ?? "";
    return received.includes("event: ack\n") || undefined;
  });
  await reader.cancel();
  assert.equal((await post(url, "/peer/unregister", { peer_id: "bob" })).ok, true);
  await until("the socket's end", () => bob.socket.readyState === WebSocket.CLOSED || undefined);
  assert.equal((await (await fetch(`${url}/health`)).json()).status, "ok");
  ada.socket.close();
});

Deno.test("a second daemon on the same state is refused, and names the first", async () => {
  using at = setup();
  const { child } = await start(at);
  await using _ = child;
  await using second = new Child("daemon", at.cwd, {
    MESH_STATE: at.state,
    MESH_DAEMON__PORT: "0",
  });
  assert.equal((await second.process.status).code, 1);
  assert.match(second.stderr, new RegExp(`pid ${child.process.pid}\\b`));
});

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  Deno.test(`${signal} answers those who wait, removes daemon.json, and exits 0`, async () => {
    using at = setup();
    const { child, url } = await start(at);
    await using _ = child;
    await post(url, "/peers", { name: "bob", path: "/work", backend: "sdk" });
    const body = { from_peer: "ada", to_peer: "bob", text: "Ready?" };
    const { correlation_id } = await post(url, "/ask", body);
    const waiting = post(url, `/asks/${correlation_id}/wait`, { peer_id: "ada" });
    await until("the wait", async () => {
      const ask = await (await fetch(`${url}/asks/${correlation_id}`)).json();
      return ask.reply_delivery === "pull" || undefined;
    });
    assert.equal(await child.end(signal), 0);
    assert.deepEqual(await waiting, { status: "pending" });
    assert.equal(notice(at.state), undefined);
  });
}

Deno.test("a read-only copy of the sources works as well", async () => {
  using at = setup();
  const copy = join(at.cwd, "copy");
  const files = [
    "main.ts",
    "cli.ts",
    "deno.json",
    "deno.lock",
    "cli",
    "daemon",
    "dashboard",
    "kit",
    "protocol",
    "relay",
    "surfaces",
    "tools",
  ];
  Deno.mkdirSync(copy);
  for (const file of files) {
    const args = ["-r", join(REPO_ROOT, file), copy];
    assert.equal((await new Deno.Command("cp", { args }).output()).code, 0);
  }
  await new Deno.Command("chmod", { args: ["-R", "a-w", copy] }).output();
  const { child, url } = await start(at, copy);
  await using _ = child;
  assert.equal((await (await fetch(`${url}/health`)).json()).status, "ok");
  await new Deno.Command("chmod", { args: ["-R", "u+w", copy] }).output();
});

Deno.test("a relay starts, and prints its address", async () => {
  using at = setup();
  await using child = new Child("relay", at.cwd, { RELAY_PORT: "0" });
  const url = await until("the relay's line", () => /"url":"([^"]+)"/.exec(child.stderr)?.[1]);
  assert.equal((await (await fetch(`${url}/health`)).json()).status, "ok");
  for (const path of ["/mcp", "/oauth/x", "/.well-known/x"]) {
    const answer = await fetch(`${url}${path}`);
    assert.deepEqual([answer.status, (await answer.json()).error], [404, "oauth_disabled"]);
  }
  assert.equal(await child.end("SIGTERM"), 0);
});

Deno.test("a relay whose port is taken ends, and names the setting for another one [c9.oauth.start]", async () => {
  using at = setup();
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const RELAY_PORT = String(taken.addr.port);
  await using child = new Child("relay", at.cwd, { RELAY_PORT });
  assert.equal((await child.process.status).code, 2);
  const refusal =
    `Cannot listen on 127.0.0.1, port ${RELAY_PORT}: .*; see RELAY_HOST and RELAY_PORT`;
  await until("its refusal", () => new RegExp(refusal).exec(child.stderr));
});

Deno.test("a relay's port is a whole number, else the refusal says what is allowed", () => {
  for (const RELAY_PORT of ["", "soon", "1.5", "-1", "65536"]) {
    assert.throws(() => readRelayConfig({ RELAY_PORT }), /RELAY_PORT: .*; allowed: a port/);
  }
  assert.equal(readRelayConfig({ RELAY_PORT: "0" }).port, 0);
});

Deno.test("a relay's host is a name or an address; an IPv6 address has brackets", () => {
  assert.throws(() => readRelayConfig({ RELAY_HOST: "" }), /RELAY_HOST: .*; allowed: the name or/);
  assert.equal(
    urlOf({ hostname: readRelayConfig({ RELAY_HOST: "::1" }).host, port: 80 }),
    "http://[::1]:80",
  );
  assert.equal(urlOf({ hostname: readRelayConfig({}).host, port: 8378 }), "http://127.0.0.1:8378");
});
