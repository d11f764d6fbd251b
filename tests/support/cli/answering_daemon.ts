/** A daemon with scripted answers on a real port, and a `mesh` that finds it. */

import { join } from "node:path";
import { runCli } from "../../../cli.ts";
import type { Device } from "../../../cli/output/terminal.ts";
import { capturedTerminal } from "./captured_output.ts";

export const PEER = {
  peer_id: "peer-000000000001",
  name: "api",
  circle: "main",
  backend: "sdk",
  role: "agent",
  status: "online",
  turn_state: null,
  addressable: true,
  transport: "websocket",
  pending_ask_count: 0,
  last_seen: null,
  description: null,
  tags: [],
  reminders: null,
  queue_max: null,
  pair_per_minute: null,
  hook_messages: true,
  wake_policy: null,
  wake: null,
  path: "/srv/api",
};

interface ReceivedRequest {
  readonly route: string;
  readonly headers: Headers;
  readonly body: unknown;
}
type Answers = Record<string, (received: ReceivedRequest) => unknown>;

/** The request of a command that has a sender, for the peer that runs it. */
const WHO_CALLS = "GET /peers/identity/caller";

/**
 * A server with one answer per route, and a home whose configuration names it. A command is no peer
 * unless the test says so.
 */
export function answeringDaemon(answers: Answers = {}) {
  const dir = Deno.makeTempDirSync();
  const received: ReceivedRequest[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (req) => {
    const { pathname, search } = new URL(req.url);
    const text = await req.text();
    const request = {
      route: `${req.method} ${pathname}${search}`,
      headers: req.headers,
      body: text === "" ? undefined : JSON.parse(text),
    };
    const asked = `${req.method} ${pathname}`;
    if (asked === WHO_CALLS && !answers[WHO_CALLS]) {
      return Response.json({ peer_id: null, name: null, proof: "none" });
    }
    received.push(request);
    const answer = answers[asked]?.(request);
    if (answer instanceof Response) return answer;
    return answer === undefined
      ? refusal(404, { error: "not_found", detail: "No such route" })
      : Response.json(answer);
  });
  const env = {
    MESH_CONFIG: join(dir, "config.yaml"),
    MESH_STATE: dir,
    MESH_DAEMON__PORT: String(server.addr.port),
  };
  return {
    dir,
    env,
    received,
    url: `http://127.0.0.1:${server.addr.port}`,
    async mesh(args: string[], given: Partial<Device> = {}, more: Record<string, string> = {}) {
      const { terminal, lines } = capturedTerminal(given);
      const code = await runCli(args, { ...env, ...more }, terminal);
      return { code, ...lines };
    },
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      Deno.removeSync(dir, { recursive: true });
    },
  };
}

export function refusal(status: number, problem: Record<string, unknown>): Response {
  return Response.json(problem, { status });
}

/** A port where nothing listens. */
export function deadPort(): string {
  using listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  return String(listener.addr.port);
}

export const HEALTH = {
  status: "ok",
  version: "1.2.3",
  daemon_id: "dm-000000000001",
  uptime_seconds: 1,
  pid: 7,
  peers: 2,
  schema_version: 1,
  capabilities: {},
  relay: { status: "disabled", url: null, last_connected_at: null, last_error: null },
};
