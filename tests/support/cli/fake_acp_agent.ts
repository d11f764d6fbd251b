/** A scripted agent of the Agent Client Protocol, in memory. */

import { AcpAgent, type AgentDeps } from "../../../cli/acp/agent.ts";
import type { RpcStreams } from "../../../cli/acp/json_rpc.ts";
import type { McpServer } from "../../../cli/acp/protocol.ts";
import { FakeClock } from "../clock.ts";

type Fields = Record<string, unknown>;
/** Returns the result of a request; throws the error that answers it. */
type Handler = (params: Fields, agent: FakeAcpAgent) => unknown;

/** The error of a JSON-RPC answer. */
export class Refusal extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export const SESSION = "session-1";
export const NEVER = new Promise<never>(() => undefined);
export const MCP_SERVER: McpServer = {
  stdio: { name: "mesh", command: "mesh", args: ["mcp"], env: [] },
  http: { type: "http", name: "mesh", url: "http://127.0.0.1:1/mcp", headers: [] },
};
export const OPTIONS = { cwd: "/work/api", mcpServer: MCP_SERVER, previous: undefined };

export const update = (sessionUpdate: string, fields: Fields = {}) => ({
  sessionId: SESSION,
  update: { sessionUpdate, ...fields },
});
export const says = (text: string) =>
  update("agent_message_chunk", { content: { type: "text", text } });

export class FakeAcpAgent {
  readonly clock = new FakeClock();
  readonly received: Fields[] = [];
  readonly ignored: string[] = [];
  readonly agent: AcpAgent;
  /** The end of the client's reading: an error's message, or `ended`. */
  readonly ending: Promise<string>;
  readonly #handlers: Readonly<Record<string, Handler>>;
  readonly #answers = new Map<unknown, (answer: Fields) => void>();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #ids = 0;

  constructor(handlers: Readonly<Record<string, Handler>> = {}, deps: Partial<AgentDeps> = {}) {
    this.#handlers = {
      "initialize": () => ({ protocolVersion: 1, agentCapabilities: { loadSession: true } }),
      "session/new": () => ({ sessionId: SESSION }),
      "session/load": () => null,
      "session/prompt": () => ({ stopReason: "end_turn" }),
      ...handlers,
    };
    this.agent = new AcpAgent(this.#streams(), {
      clock: this.clock,
      version: "1",
      permit: () => Promise.resolve({ outcome: { outcome: "cancelled" } }),
      ignored: (line) => this.ignored.push(line),
      ...deps,
    });
    this.ending = this.agent.run().then(() => "ended", ({ message }) => message);
  }

  /** Opens a session, while the clock stands still unless it is waited for. */
  open(previous?: string) {
    return this.clock.during(this.agent.open({ ...OPTIONS, previous }));
  }

  /** Opens a session that the agent continues, and lets its quiet time pass. */
  async openContinued() {
    const opening = this.agent.open({ ...OPTIONS, previous: SESSION });
    await this.clock.advance(1_000);
    return await opening;
  }

  notify(params: Fields): void {
    this.write(JSON.stringify({ jsonrpc: "2.0", method: "session/update", params }));
  }

  /** Sends a request to the client, and returns its whole answer. */
  request(method: string, params: Fields): Promise<Fields> {
    const id = `agent-${++this.#ids}`;
    const { promise, resolve } = Promise.withResolvers<Fields>();
    this.#answers.set(id, resolve);
    this.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return promise;
  }

  write(line: string): void {
    this.#controller?.enqueue(new TextEncoder().encode(`${line}\n`));
  }

  end(): void {
    this.#controller?.close();
  }

  #streams(): RpcStreams {
    const input = new ReadableStream<Uint8Array>({
      start: (controller) => void (this.#controller = controller),
    });
    return {
      input,
      write: async (bytes) => await this.#take(JSON.parse(new TextDecoder().decode(bytes))),
    };
  }

  #take(message: Fields): void {
    this.received.push(message);
    const { id, method, params } = message;
    if (typeof method !== "string") return this.#answers.get(id)?.(message);
    const handler = this.#handlers[method];
    if (id !== undefined && handler) void this.#answer(id, () => handler(params as Fields, this));
  }

  async #answer(id: unknown, work: () => unknown): Promise<void> {
    const answer = await Promise.try(work).then(
      (result) => ({ result }),
      ({ code, message, data }) => ({ error: { code, message, data } }),
    );
    this.write(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
  }
}
