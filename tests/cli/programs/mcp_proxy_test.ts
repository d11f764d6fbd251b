/** `mesh mcp` as agents run it: a child process on stdio, with a daemon that comes and goes. */

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import assert from "node:assert/strict";
import { join } from "node:path";
import { TOOLS } from "../../../daemon/api/mcp/mcp.ts";
import { type Answers, serveMcp, waitUntil } from "../../support/daemon/mcp_server.ts";
import { meshArguments } from "../../support/programs/program.ts";

const TOKEN = "a-token-of-sixteen";
const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
const LIST = { "GET /peers": () => ({ peers: [] }) };

interface RpcResponse {
  id: unknown;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
}

/** A temporary state directory for a daemon and its proxies. */
function home() {
  const dir = Deno.makeTempDirSync();
  const env = { MESH_STATE: dir, MESH_CONFIG: join(dir, "config.yaml") };
  return {
    env,
    writeRuntimeFile: (url: string, more = {}) =>
      Deno.writeTextFileSync(join(dir, "daemon.json"), JSON.stringify({ pid: 1, url, ...more })),
    config: (token: string) =>
      Deno.writeTextFileSync(env.MESH_CONFIG, `daemon:\n  auth_token: ${token}\n`),
    [Symbol.dispose]: () => Deno.removeSync(dir, { recursive: true }),
  };
}

/** A running proxy: sends messages and collects answers. */
function proxy(env: Record<string, string>) {
  const child = new Deno.Command(Deno.execPath(), {
    args: meshArguments(["mcp"]),
    env,
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const input = child.stdin.getWriter();
  const answers: RpcResponse[] = [];
  const reading = read(child.stdout, answers);
  const writeLine = (line: string) => input.write(new TextEncoder().encode(`${line}\n`));
  return {
    pid: child.pid,
    status: child.status,
    answers,
    writeLine,
    end: () => input.close(),
    send: (message: Record<string, unknown>) =>
      writeLine(JSON.stringify({ jsonrpc: "2.0", ...message })),
    /** The answer to the request with this id. */
    async answer(id: unknown): Promise<RpcResponse> {
      const find = () => answers.find((answer) => answer.id === id);
      await waitUntil(() => find() !== undefined, `an answer to ${id}`);
      const found = find();
      assert.ok(found);
      answers.splice(answers.indexOf(found), 1);
      return found;
    },
    async [Symbol.asyncDispose]() {
      await input.close().catch(() => undefined);
      await reading;
      await child.status;
    },
  };
}

async function read(output: ReadableStream<Uint8Array<ArrayBuffer>>, into: RpcResponse[]) {
  let held = "";
  for await (const text of output.pipeThrough(new TextDecoderStream())) {
    const lines = (held + text).split("\n");
    held = lines.pop() ?? "";
    for (const line of lines) into.push(JSON.parse(line));
  }
}

/** A daemon whose address and token the proxy finds. */
function daemon(at: ReturnType<typeof home>, answers: Answers = LIST, port = 0) {
  const listens = serveMcp(answers, TOKEN, port);
  at.writeRuntimeFile(listens.url);
  at.config(TOKEN);
  return listens;
}

const call = (id: number | string, name: string, given: Record<string, unknown> = {}) => ({
  id,
  method: "tools/call",
  params: { name, arguments: given },
});

for (const protocolVersion of ["2025-11-25", "2026-07-28"]) {
  Deno.test(`${protocolVersion}: the SDK's stdio client finds the daemon's tools through the proxy`, async () => {
    using at = home();
    await using here = daemon(at);
    const mode = protocolVersion === "2026-07-28" ? { pin: protocolVersion } : "legacy" as const;
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
    const args = meshArguments(["mcp"]);
    const env = { ...Deno.env.toObject(), ...at.env };
    const transport = new StdioClientTransport({ command: Deno.execPath(), args, env });
    await client.connect(transport);
    assert.equal((await client.listTools()).tools.length, TOOLS.length);
    const { structuredContent } = await client.callTool({ name: "list_peers", arguments: {} });
    assert.deepEqual(structuredContent, { peers: [] });
    const { headers } = here.requests.at(-1) ?? new Request("http://none");
    assert.equal(headers.get("x-mesh-pid"), String(transport.pid));
    assert.equal(headers.get("mcp-protocol-version"), protocolVersion);
    await client.close();
  });
}

Deno.test("the proxy adds the headers of MCP 2026-07-28 to each message", async () => {
  using at = home();
  await using here = daemon(at);
  await using agent = proxy(at.env);
  const { params, ...request } = call(1, "list_peers");
  await agent.send({ ...request, params: { ...params, _meta: ENVELOPE } });
  assert.deepEqual((await agent.answer(1)).result?.["structuredContent"], { peers: [] });
  await agent.send({ ...request, id: 2, params: { ...params, name: "wörk", _meta: ENVELOPE } });
  assert.match((await agent.answer(2)).error?.message ?? "", /Unknown tool: wörk/);
  // The first message is sent twice, because the token is read only after a 401.
  const names = new Set(here.requests.map(({ headers }) => headers.get("mcp-name")));
  assert.deepEqual([...names], ["list_peers", "=?base64?d8O2cms=?="]);
});

Deno.test("requests run concurrently, and answers arrive as they are ready", async () => {
  using at = home();
  const later = Promise.withResolvers<unknown>();
  await using _here = daemon(at, { ...LIST, "POST /asks/ask-1/wait": () => later.promise });
  await using agent = proxy(at.env);
  await agent.send(call("slow", "wait_on_ack", { correlation_id: "ask-1" }));
  await agent.send(call("fast", "list_peers"));
  await agent.send({ method: "notifications/initialized" });
  await agent.answer("fast");
  assert.deepEqual(agent.answers, []);
  later.resolve({ status: "pending" });
  await agent.answer("slow");
});

Deno.test("a cancelled request is dropped here and in the daemon, without an answer", async () => {
  using at = home();
  const dropped = Promise.withResolvers<void>();
  const { promise: never } = Promise.withResolvers<void>();
  await using here = daemon(at, {
    ...LIST,
    "POST /asks/ask-1/wait": ({ signal }) => {
      signal.addEventListener("abort", () => dropped.resolve());
      return never;
    },
  });
  await using agent = proxy(at.env);
  await agent.send(call(1, "wait_on_ack", { correlation_id: "ask-1" }));
  await waitUntil(() => here.received.length === 1, "the wait");
  await agent.send({ method: "notifications/cancelled", params: { requestId: 1 } });
  await dropped.promise;
  await agent.send(call(2, "list_peers"));
  await agent.answer(2);
  assert.deepEqual(agent.answers, []);
});

Deno.test("without a daemon a request fails with a hint, and works once one runs elsewhere", async () => {
  using at = home();
  await using agent = proxy(at.env);
  await agent.send(call(1, "list_peers"));
  assert.match(
    (await agent.answer(1)).error?.message ?? "",
    /The mesh daemon is not running.*mesh up/,
  );
  {
    await using _first = daemon(at);
    await agent.send(call(2, "list_peers"));
    assert.ok((await agent.answer(2)).result);
  }
  await agent.send(call(3, "list_peers"));
  const gone = (await agent.answer(3)).error?.message ?? "";
  assert.match(gone, /does not answer: start it with `mesh up`|closed the connection/);
  await using _second = daemon(at);
  await agent.send(call(4, "list_peers"));
  assert.ok((await agent.answer(4)).result);
});

Deno.test("a changed token is read again", async () => {
  using at = home();
  await using _here = daemon(at);
  at.config("another-token-by-far");
  await using agent = proxy(at.env);
  await agent.send(call(1, "list_peers"));
  assert.match((await agent.answer(1)).error?.message ?? "", /refused the request: unauthorized/);
  at.config(TOKEN);
  await agent.send(call(2, "list_peers"));
  assert.ok((await agent.answer(2)).result);
});

Deno.test("an invalid or too long line gets an error, and the next one works", async () => {
  using at = home();
  await using _here = daemon(at);
  await using agent = proxy(at.env);
  await agent.writeLine("{nonsense");
  assert.equal((await agent.answer(null)).error?.code, -32_700);
  await agent.writeLine("x".repeat(5_000_000));
  assert.equal((await agent.answer(null)).error?.code, -32_700);
  await agent.send(call(1, "list_peers"));
  assert.ok((await agent.answer(1)).result);
});

Deno.test("the agent's proxy settings are not used for the daemon", async () => {
  using at = home();
  await using _here = daemon(at);
  const nobody = "http://127.0.0.1:9";
  await using agent = proxy({ ...at.env, HTTP_PROXY: nobody, http_proxy: nobody, NO_PROXY: "" });
  await agent.send(call(1, "list_peers"));
  assert.ok((await agent.answer(1)).result);
});

Deno.test("mistakes in the configuration are reported in the answer", async () => {
  using at = home();
  await using _here = daemon(at);
  await using agent = proxy({ ...at.env, MESH_DAEMON__PORT: "many" });
  await agent.send(call(1, "list_peers"));
  assert.match((await agent.answer(1)).error?.message ?? "", /daemon\.port: found "many"/);
});

Deno.test("the proxy exits at the end of stdin, after answering pending requests", async () => {
  using at = home();
  await using _here = daemon(at);
  await using agent = proxy(at.env);
  await agent.send(call(1, "list_peers"));
  await agent.end();
  assert.ok((await agent.answer(1)).result);
  assert.equal((await agent.status).code, 0);
});

Deno.test("another program at a dead daemon's address gets neither a message nor the token", async () => {
  using at = home();
  at.config(TOKEN);
  const asked: Request[] = [];
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => undefined };
  await using other = Deno.serve(options, (request) => {
    asked.push(request);
    return new Response(null, { status: 401 });
  });
  const url = `http://127.0.0.1:${other.addr.port}`;
  await using agent = proxy(at.env);
  for (const [id, ended] of [{ pid: 4_000_000 }, { process_started: "0" }].entries()) {
    at.writeRuntimeFile(url, ended);
    await agent.send(call(id, "list_peers"));
    assert.match((await agent.answer(id)).error?.message ?? "", /daemon is not running/);
  }
  assert.deepEqual(asked, []);
});
