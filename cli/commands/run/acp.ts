/** `mesh run --acp`: runs an agent that speaks the Agent Client Protocol, as a peer. */

import { randomIds } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { VERSION } from "kit/core/version.ts";
import { ACP_AGENT } from "protocol/agents/contract.ts";
import { SERVER_NAME } from "../../../daemon/features/agents/mcp_server_entry.ts";
import { type Env, HOOKS_VARIABLE } from "../../../daemon/host/paths.ts";
import { runningDaemon } from "../../../daemon/host/runtime_file.ts";
import { AcpAgent, type OpenedAgent } from "../../acp/agent.ts";
import { AgentProcess } from "../../acp/agent_process.ts";
import { Identity } from "../../acp/identity.ts";
import { RpcEnded } from "../../acp/json_rpc.ts";
import { AcpPeer } from "../../acp/peer.ts";
import { Permissions } from "../../acp/permissions.ts";
import type { McpServer, StdioServer } from "../../acp/protocol.ts";
import { connectWebSocket, DaemonConnection } from "../../client/daemon_connection.ts";
import { createDaemonClient } from "../../client/daemon_client.ts";
import { CommandError } from "../../client/failures.ts";
import { meshCommand } from "../../client/program.ts";
import { readClientSettings } from "../../client/settings.ts";
import type { CommandContext } from "../../command/command.ts";
import { styled } from "../../output/terminal.ts";
import { forwardSignals, type PaneProgram } from "./pane.ts";

/** The signals that end the agent, and what shells return after them. */
const ENDING = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** Time limit for an agent to end once it has closed its output. */
const END_MS_MAX = 5_000;

/** The variables by which our MCP server finds the daemon. Agents pass few variables on. */
const SERVER_VARIABLES = [
  "HOME",
  "MESH_CONFIG",
  "MESH_STATE",
  "XDG_CONFIG_HOME",
  "XDG_STATE_HOME",
  "DENO_DIR",
];

/** Runs the agent until it ends or a signal ends it. Returns its exit code. */
export async function runAcp(context: CommandContext, program: PaneProgram): Promise<number> {
  const { clock, terminal } = context;
  const env = { ...context.env, [HOOKS_VARIABLE]: "off" };
  using identity = await Identity.open(env, { ...program, cwd: Deno.cwd() }, randomIds);
  const agentProcess = new AgentProcess(program.argv, env, clock);
  const running = new RunningAgent(context, { program, identity, process: agentProcess });
  const { promise: interrupted, resolve } = Promise.withResolvers<number>();
  let isEnding = false;
  using _ = forwardSignals(["SIGHUP", "SIGINT", "SIGTERM"], (signal) => {
    isEnding = true;
    resolve(ENDING[signal as keyof typeof ENDING]);
  });
  const ended = agentProcess.code.then((code) => {
    const text = `${program.argv[0]} has ended with code ${code}`;
    if (!isEnding) terminal.printError(styled("dim", text));
    return code;
  });
  try {
    return await Promise.race([interrupted, running.run(ended)]);
  } finally {
    await running.end();
  }
}

interface Parts {
  readonly program: PaneProgram;
  readonly identity: Identity;
  readonly process: AgentProcess;
}

class RunningAgent {
  readonly #context: CommandContext;
  readonly #parts: Parts;
  readonly #disconnect = new AbortController();
  readonly #agent: AcpAgent;
  #permissions: Permissions | undefined;
  #connecting: Promise<void> = Promise.resolve();

  constructor(context: CommandContext, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
    this.#agent = new AcpAgent(parts.process.streams, {
      clock: context.clock,
      version: VERSION,
      permit: (asked, signal) => {
        if (this.#permissions) return this.#permissions.permit(asked, signal);
        return Promise.resolve({ outcome: { outcome: "cancelled" } });
      },
      ignored: (line) => this.#report(`Ignored a line that is not a message: ${line}`),
    });
  }

  /** Opens the session and serves the peer until the agent ends. Returns its exit code. */
  async run(ended: Promise<number>): Promise<number> {
    const reads = this.#agent.run().then(() => this.#codeOf(ended));
    try {
      const opened = await Promise.race([this.#open(), reads.then(() => undefined)]);
      if (!opened) return await reads;
      this.#connecting = this.#serve(opened);
      // `#serve` returns only after `end`. Its error is the result of the race.
      return await Promise.race([ended, reads, this.#connecting.then(() => ended)]);
    } catch (error) {
      if (!(error instanceof RpcEnded)) throw error;
      if (!error.isFault) return await this.#codeOf(ended);
      throw new CommandError(`${this.#parts.program.argv[0]}: ${error.message}`);
    }
  }

  /** Waits for the exit code of an agent that has closed its output. */
  async #codeOf(ended: Promise<number>): Promise<number> {
    const code = await timeout(this.#context.clock, END_MS_MAX, ended);
    if (code !== undefined) return code;
    throw new CommandError(`${this.#parts.program.argv[0]} has closed its output, but still runs`);
  }

  /** Disconnects and ends the agent. */
  async end(): Promise<void> {
    this.#agent.cancel();
    this.#disconnect.abort();
    await Promise.allSettled([this.#connecting]);
    await this.#parts.process.end();
  }

  async #open(): Promise<OpenedAgent> {
    const { identity, program } = this.#parts;
    const opened = await this.#agent.open({
      cwd: Deno.cwd(),
      mcpServer: meshServer(this.#context.env),
      previous: identity.session_id,
    });
    identity.keep(opened.session_id);
    const { isContinued, notContinued, name = program.argv[0], version = "" } = opened;
    if (notContinued !== undefined) {
      this.#report(`${name} begins a new session: ${notContinued}`);
    }
    const session = isContinued ? "continues" : "has opened";
    this.#report(`${name} ${version} ${session} the session ${opened.session_id}`);
    return opened;
  }

  /** Keeps the connection to the daemon. Throws if the daemon rejects it for good. */
  async #serve(opened: OpenedAgent): Promise<void> {
    const { clock, env, terminal } = this.#context;
    const settings = readClientSettings(env);
    // No person at this terminal speaks for the agent, so the client is not interactive.
    const { call } = createDaemonClient(env, false, settings, { clock });
    const connection = new DaemonConnection({
      clock,
      ids: randomIds,
      connect: connectWebSocket,
      client: "peer",
      url: () => runningDaemon(env)?.url,
      connectFrame: () => this.#connectFrame(opened, readClientSettings(env).token),
      connected: ({ peer_id, display_name: name }) => {
        this.#permissions = new Permissions({
          call,
          peer: { peer_id, name, session_id: opened.session_id },
          waiting: (isWaiting) => peer.awaitsInput(isWaiting),
          report: (text) => this.#report(text),
        });
        this.#report(`${name} is a peer`);
        peer.connected(peer_id);
      },
      received: (frame) => peer.received(frame),
      log: (text) => this.#report(text),
    });
    const peer = new AcpPeer({
      agent: this.#agent,
      call,
      send: (frame) => connection.send(frame),
      reoffer: () => connection.reconnect(),
      report: (text) => this.#report(text),
      said: (text) => terminal.printText(text),
    });
    await connection.run(this.#disconnect.signal);
  }

  #connectFrame(opened: OpenedAgent, auth_token: string | undefined) {
    const { program, identity } = this.#parts;
    const { session_id, name, version, model } = opened;
    return {
      display_name: program.name,
      backend: ACP_AGENT,
      path: Deno.cwd(),
      // This process holds the socket, and the agent's MCP servers are below it.
      agent_pid: Deno.pid,
      capabilities: ["delivery_receipts", "framed_text", "interrupt"],
      metadata: {
        client_id: identity.client_id,
        acp_session: session_id,
        ...(name !== undefined && { agent: name }),
        ...(version !== undefined && { agent_version: version }),
      },
      ...(program.circle !== undefined && { circle: program.circle }),
      ...(model !== undefined && { model }),
      ...(auth_token !== undefined && { auth_token }),
    };
  }

  #report(text: string): void {
    this.#context.terminal.printError(styled("dim", text));
  }
}

/**
 * Our MCP server, by which the agent asks, answers and notifies as this peer. The daemon proves
 * that the agent runs below this process, in either form.
 */
function meshServer(env: Env): McpServer {
  const { url, token } = readClientSettings(env);
  const headers = [
    { name: "x-mesh-pid", value: String(Deno.pid) },
    ...(token === undefined ? [] : [{ name: "authorization", value: `Bearer ${token}` }]),
  ];
  const address = new URL("/mcp", runningDaemon(env)?.url ?? url).href;
  return {
    stdio: stdioServer(env),
    http: { type: "http", name: SERVER_NAME, url: address, headers },
  };
}

function stdioServer(env: Env): StdioServer {
  const [command = "", ...args] = meshCommand();
  const passed = SERVER_VARIABLES.flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [{ name, value }];
  });
  const variables = [...passed, { name: HOOKS_VARIABLE, value: "off" }];
  return { name: SERVER_NAME, command, args: [...args, "mcp"], env: variables };
}
