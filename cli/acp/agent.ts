/** An agent of the Agent Client Protocol: opens its session, and runs one prompt at a time. */

import type { Clock } from "kit/core/clock.ts";
import { cleanLine } from "kit/core/text.ts";
import { pause, timeout } from "kit/core/timeout.ts";
import * as z from "zod";
import { CommandError } from "../client/failures.ts";
import { JsonRpc, RpcError, type RpcStreams } from "./json_rpc.ts";
import {
  AUTH_REQUIRED,
  InitializeResult,
  type McpServer,
  OpenedSession,
  type PermissionOutcome,
  PermissionRequest,
  PromptResult,
  PROTOCOL_VERSION,
  SessionUpdate,
  type ToolRequest,
} from "./protocol.ts";
import { Turn, type TurnListener } from "./turn.ts";

/** Time limits for an agent's start, and then for opening a session with its MCP servers. */
const START_MS_MAX = 120_000;
/** Silence after which the history of a loaded session has ended. An agent may send it late. */
const QUIET_MS = 250;
const QUIET_WAITS_MAX = 40;
const NAME_CHARS_MAX = 100;

export interface AgentDeps {
  readonly clock: Clock;
  readonly version: string;
  /** Asks for a permission. The signal aborts when the turn is over. */
  permit(request: ToolRequest, signal: AbortSignal): Promise<PermissionOutcome>;
  /** Called with a line that is ignored, because it is no message. */
  ignored(line: string): void;
}

interface SessionOptions {
  readonly cwd: string;
  readonly mcpServer: McpServer;
  /** The session to continue, if the agent can. */
  readonly previous: string | undefined;
}

export interface OpenedAgent {
  readonly session_id: string;
  readonly isContinued: boolean;
  /** The reason why the earlier session was not continued. */
  readonly notContinued: string | undefined;
  readonly name: string | undefined;
  readonly version: string | undefined;
  readonly model: string | undefined;
}

interface RunningTurn {
  readonly turn: Turn;
  readonly over: AbortController;
}

const CANCELLED: PermissionOutcome = { outcome: { outcome: "cancelled" } };

export class AcpAgent {
  readonly #deps: AgentDeps;
  readonly #rpc: JsonRpc;
  #session_id: string | undefined;
  #running: RunningTurn | undefined;
  #updates = 0;
  /** False while updates may belong to an earlier turn, which a loaded session sends. */
  #updatesProve = true;

  constructor(streams: RpcStreams, deps: AgentDeps) {
    this.#deps = deps;
    this.#rpc = new JsonRpc(streams, {
      notified: (method, params) => this.#onNotification(method, params),
      requested: (method, params) => this.#onRequest(method, params),
      ignored: deps.ignored,
    });
  }

  /** Reads until the agent ends. Throws `RpcEnded` if it does not speak the protocol. */
  run(): Promise<void> {
    return this.#rpc.run();
  }

  /** Opens a session. Throws `CommandError` if the agent cannot be used. */
  async open({ cwd, mcpServer, previous }: SessionOptions): Promise<OpenedAgent> {
    const agent = await this.#initialize();
    const { agentInfo, agentCapabilities } = agent;
    const { loadSession = false, mcpCapabilities: { http = false } = {} } = agentCapabilities;
    const options = { cwd, mcpServers: [http ? mcpServer.http : mcpServer.stdio] };
    let session: z.output<typeof OpenedSession> | undefined;
    let notContinued: string | undefined;
    if (previous !== undefined && loadSession) {
      try {
        const loading = this.#start("session/load", { ...options, sessionId: previous });
        session = { ...OpenedSession.parse(await loading), sessionId: previous };
        await this.#untilQuiet();
        this.#updatesProve = false;
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        notContinued = error.message;
      }
    } else if (previous !== undefined) notContinued = "it cannot load sessions";
    session ??= await this.#newSession(options, agent);
    const { sessionId, models } = session;
    if (sessionId === undefined) throw new CommandError("The agent returned no session id");
    this.#session_id = sessionId;
    return {
      session_id: sessionId,
      isContinued: sessionId === previous,
      notContinued,
      name: agentInfo && cut(agentInfo.title || agentInfo.name),
      version: agentInfo?.version ? cut(agentInfo.version) : undefined,
      model: models && cut(models.currentModelId),
    };
  }

  /**
   * Runs a prompt. Returns its turn and why it ended, such as `end_turn`. Rejects with `RpcError`
   * if the agent refuses it, and with `RpcEnded` if the agent ends.
   */
  async prompt(text: string, listener: TurnListener): Promise<{ turn: Turn; stopReason: string }> {
    if (this.#running) throw new Error("A prompt is running");
    const turn = new Turn(listener, { updatesProve: this.#updatesProve });
    const over = new AbortController();
    this.#running = { turn, over };
    try {
      const prompt = [{ type: "text", text }];
      const params = { sessionId: this.#session_id, prompt };
      const { stopReason } = PromptResult.parse(await this.#rpc.request("session/prompt", params));
      // A cancelled prompt may have been cancelled before it was read.
      if (stopReason !== "cancelled") turn.seen();
      this.#updatesProve = true;
      return { turn, stopReason };
    } finally {
      this.#running = undefined;
      over.abort();
    }
  }

  /** Cancels the running prompt and, as the protocol requires, its permission requests. */
  cancel(): void {
    if (!this.#running) return;
    this.#rpc.notify("session/cancel", { sessionId: this.#session_id });
    this.#running.over.abort();
  }

  async #initialize() {
    const answer = await this.#start("initialize", {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      clientInfo: { name: "mesh", title: "Agent Mesh", version: this.#deps.version },
    }).catch((error) => {
      if (!(error instanceof RpcError)) throw error;
      throw new CommandError(`The program is no ACP agent: ${error.message}`);
    });
    const agent = InitializeResult.safeParse(answer);
    if (!agent.success) {
      throw new CommandError("The program is no ACP agent: invalid answer to initialize");
    }
    const { protocolVersion } = agent.data;
    if (protocolVersion === PROTOCOL_VERSION) return agent.data;
    throw new CommandError(
      `The agent speaks version ${protocolVersion} of the Agent Client Protocol; ` +
        `mesh speaks version ${PROTOCOL_VERSION}`,
    );
  }

  async #newSession(options: object, { authMethods }: InitializeResult) {
    try {
      return OpenedSession.parse(await this.#start("session/new", options));
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      if (error.code !== AUTH_REQUIRED) {
        throw new CommandError(`The agent opened no session: ${error.message}`);
      }
      const ways = authMethods.map(({ name }) => cut(cleanLine(name))).join(", ");
      throw new CommandError(
        `The agent wants its user to log in first: ${error.message}. Start it without mesh, log in` +
          `${ways && ` (${ways})`}, then try again`,
      );
    }
  }

  async #start(method: string, params: object): Promise<unknown> {
    const work = this.#rpc.request(method, params).then((result) => ({ result }));
    const done = await timeout(this.#deps.clock, START_MS_MAX, work);
    if (done) return done.result;
    throw new CommandError(`The agent did not answer ${method} in ${START_MS_MAX / 1_000} s`);
  }

  async #untilQuiet(): Promise<void> {
    for (let waits = 0; waits < QUIET_WAITS_MAX; waits++) {
      const before = this.#updates;
      await pause(this.#deps.clock, QUIET_MS);
      if (this.#updates === before) return;
    }
  }

  #onNotification(method: string, params: unknown): void {
    if (method !== "session/update") return;
    this.#updates++;
    const notification = SessionUpdate.safeParse(params);
    if (!notification.success || notification.data.sessionId !== this.#session_id) return;
    this.#running?.turn.update(notification.data.update);
  }

  #onRequest(method: string, params: unknown): Promise<unknown> | undefined {
    return method === "session/request_permission" ? this.#permit(params) : undefined;
  }

  async #permit(params: unknown): Promise<PermissionOutcome> {
    const { sessionId, toolCall, options } = PermissionRequest.parse(params);
    const running = this.#running;
    // Only a turn that mesh began may use tools.
    if (!running || sessionId !== this.#session_id) return CANCELLED;
    const { turn, over: { signal } } = running;
    turn.seen();
    const outcome = await this.#deps.permit({ call: turn.merged(toolCall), options }, signal);
    return signal.aborted ? CANCELLED : outcome;
  }
}

function cut(text: string): string {
  return cleanLine(text).slice(0, NAME_CHARS_MAX);
}
