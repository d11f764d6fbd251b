/** A fake of Codex's shared server: on a unix socket, in WebSocket frames. */

import { join } from "node:path";
import { socketPath } from "../../../daemon/features/agents/codex/app_server.ts";
import type { AgentPeer } from "../../../daemon/features/agents/adapter.ts";

export const THREAD = "01a1fd98-e6b7-7203-8c25-4d2ca61a583d";
export const OTHER_THREAD = "01a1fd9b-579c-7990-9425-992190aa141e";

type Params = Readonly<Record<string, unknown>>;
/** The answer of a method; an `Error` refuses with its message, `undefined` never answers. */
export type Answers = Readonly<Record<string, (params: Params) => unknown>>;

export interface ServerRequest {
  readonly method: string;
  readonly params: Params;
}

/** Codex's home folder, with or without a server that listens in it. */
export class CodexHome implements AsyncDisposable {
  readonly dir: string;
  readonly #root = Deno.makeTempDirSync({ prefix: "mesh-codex-" });
  /** The requests in order, without handshakes. */
  readonly asked: ServerRequest[] = [];
  #server: Deno.HttpServer<Deno.UnixAddr> | undefined;

  /** The folder may lie deep in other folders. */
  constructor(...below: readonly string[]) {
    this.dir = join(this.#root, ...below);
    Deno.mkdirSync(this.dir, { recursive: true });
  }

  /** As in Codex: the socket lies elsewhere, and a link leads to it. The queue is empty. */
  listen(given: Answers = {}, version = "0.171.0"): this {
    const answers = { "thread/queue/list": EMPTY_QUEUE, ...given };
    const path = join(this.#root, "s");
    Deno.mkdirSync(join(this.dir, "app-server-control"));
    this.#server = Deno.serve({ path, onListen: () => undefined }, (request) => {
      const { socket, response } = Deno.upgradeWebSocket(request);
      socket.onmessage = ({ data }) => this.#take(socket, JSON.parse(data), { answers, version });
      return response;
    });
    Deno.symlinkSync(path, socketPath(this.dir));
    return this;
  }

  #take(
    socket: WebSocket,
    { id, method, params }: ServerRequest & { id?: number },
    { answers, version }: { answers: Answers; version: string },
  ): void {
    if (id === undefined) return;
    // A notification for terminals, and a request of the server's own under the same number.
    socket.send(JSON.stringify({ method: "configWarning", params: { summary: "none" } }));
    socket.send(JSON.stringify({ id, method: "item/requestApproval", params: {} }));
    if (method === "initialize") {
      const userAgent = `codex-tui/${version} (Debian 12.0.0; x86_64) (agent-mesh; 1)`;
      return socket.send(JSON.stringify({ id, result: { userAgent } }));
    }
    this.asked.push({ method, params });
    const answer = answers[method]?.(params) ?? (answers[method] ? undefined : new Error(method));
    if (answer === undefined) return;
    const result = answer instanceof Error
      ? { error: { code: -32_600, message: answer.message } }
      : { result: answer };
    socket.send(JSON.stringify({ id, ...result }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.shutdown();
    Deno.removeSync(this.#root, { recursive: true });
  }
}

/** A thread as `thread/read` returns it. */
export function thread(status: Params, more: Params = {}) {
  return ({ threadId }: Params) => ({
    thread: { id: threadId, status, canAcceptDirectInput: true, cliVersion: "0.169.0", ...more },
  });
}

export const IDLE = thread({ type: "idle" });
export const WORKING = thread({ type: "active", activeFlags: [] });
export const AT_DIALOG = thread({ type: "active", activeFlags: ["waitingOnApproval"] });
/** A queue as `thread/queue/list` returns it. */
const EMPTY_QUEUE = () => ({ data: [], nextCursor: null });
export const NOT_LOADED = thread({ type: "notLoaded" });

/** A session of the shared server: its process and its pane are unknown. */
export const SHARED: AgentPeer = {
  peer_id: "peer-1",
  backend: "codex",
  tmux_socket: null,
  pane_id: null,
  agent_pid: null,
  agent_started: null,
  runtime_session_id: THREAD,
  turn_state: null,
  metadata: {},
};
