/** One of the demo's two agents: a small `/ws` peer that prints what it sends and receives. */

import * as z from "zod";
import { readSettings } from "../../cli/client/settings.ts";
import {
  DEMO_CIRCLE,
  type DemoMessage,
  type DemoScript,
  SCRIPTS,
} from "protocol/derived/demo_script.ts";
import { runningDaemon } from "../../daemon/host/runtime_file.ts";
import { type CommandContext } from "../../cli/command/command.ts";
import { CommandError, EXIT } from "../../cli/client/failures.ts";
import { styled, type Terminal } from "../../cli/output/terminal.ts";

/** The frames of `/ws` (contract 4) that the demo needs. */
const Frame = z.discriminatedUnion("type", [
  z.object({ type: z.literal("connected"), display_name: z.string() }),
  z.object({
    type: z.literal("ask"),
    delivery_id: z.string(),
    correlation_id: z.string(),
    from_peer: z.string(),
    text: z.string(),
  }),
  z.object({
    type: z.literal("notify"),
    delivery_id: z.string(),
    from_peer: z.string(),
    text: z.string(),
  }),
  z.object({
    type: z.literal("ack"),
    delivery_id: z.string(),
    from_peer: z.string(),
    outcome: z.string().nullable(),
    text: z.string().nullable(),
  }),
  z.object({ type: z.literal("ping"), ping_id: z.string() }),
  z.object({
    type: z.literal("result"),
    request_id: z.string(),
    error: z.string().optional(),
    detail: z.string().optional(),
  }),
  z.object({ type: z.literal("error"), error: z.string(), detail: z.string() }),
]);
type Frame = z.output<typeof Frame>;

export const DEMO_HUMAN = "sam";

export async function runDemoPeer(context: CommandContext, name: string): Promise<number> {
  const { env, terminal } = context;
  const script = new Map<string, DemoScript>(Object.entries(SCRIPTS)).get(name);
  if (!script) throw new CommandError(`The demo has no peer "${name}"`);
  const runtimeInfo = runningDaemon(env);
  if (!runtimeInfo) throw new CommandError("The demo's daemon is not running");
  const auth_token = readSettings(env)["daemon.auth_token"]?.reveal();
  const { promise: ended, resolve } = Promise.withResolvers<number>();
  const socket = new WebSocket(new URL("/ws", runtimeInfo.url.replace(/^http/, "ws")));
  new DemoPeer({ name, script, terminal, socket, onEnd: resolve }).open(auth_token);
  return await ended;
}

interface DemoPeerOptions {
  readonly name: string;
  readonly script: DemoScript;
  readonly terminal: Terminal;
  readonly socket: WebSocket;
  readonly onEnd: (code: number) => void;
}

class DemoPeer {
  readonly #options: DemoPeerOptions;
  #requests = 0;

  constructor(options: DemoPeerOptions) {
    this.#options = options;
  }

  open(auth_token: string | undefined): void {
    const { name, socket, onEnd } = this.#options;
    socket.onopen = () =>
      this.#send({
        type: "connect",
        display_name: name,
        circle: DEMO_CIRCLE,
        backend: "sdk",
        path: Deno.cwd(),
        agent_pid: Deno.pid,
        capabilities: ["delivery_receipts"],
        ...(auth_token !== undefined && { auth_token }),
      });
    socket.onmessage = ({ data }) => {
      const frame = Frame.safeParse(JSON.parse(String(data)));
      // The daemon may send other frames; they are ignored.
      if (frame.success) this.#handleFrame(frame.data);
    };
    socket.onclose = ({ code, reason }) => {
      this.#print("dim", `Connection closed: ${code} ${reason}`);
      onEnd(EXIT.done);
    };
  }

  #handleFrame(frame: Frame): void {
    const { script } = this.#options;
    switch (frame.type) {
      case "connected":
        this.#print("dim", `${frame.display_name} is connected`);
        return this.#sendMessage(script.firstMessage);
      case "ask":
        this.#showDelivery(frame, "asks");
        if (script.replyText === undefined) return;
        this.#print("green", `→ ${frame.from_peer}: ${script.replyText}`);
        return this.#request("ack", {
          correlation_id: frame.correlation_id,
          message: script.replyText,
        });
      case "notify":
        this.#showDelivery(frame, "says");
        return this.#sendMessage(script.onNotify);
      case "ack":
        this.#showDelivery({ ...frame, text: frame.text ?? "" }, frame.outcome ?? "closed");
        return this.#sendMessage(script.onReply);
      case "ping":
        return this.#send({ type: "pong", ping_id: frame.ping_id });
      case "result":
        if (frame.error) this.#print("red", `refused: ${frame.detail ?? frame.error}`);
        return;
      case "error":
        return this.#print("red", `${frame.error}: ${frame.detail}`);
    }
  }

  #showDelivery(
    { delivery_id, from_peer, text }: { delivery_id: string; from_peer: string; text: string },
    label: string,
  ): void {
    this.#print("cyan", `← ${from_peer} ${label}: ${text}`);
    this.#send({ type: "delivery_ack", delivery_id, status: "seen" });
  }

  #sendMessage(message: DemoMessage | undefined): void {
    if (!message) return;
    const { type, to, text } = message;
    const to_peer = to === "human" ? DEMO_HUMAN : to;
    this.#print("green", `→ ${to_peer}: ${text}`);
    this.#request(type, { to_peer, text });
  }

  #request(type: string, fields: Record<string, unknown>): void {
    this.#send({ type, request_id: String(++this.#requests), ...fields });
  }

  #send(frame: Record<string, unknown>): void {
    this.#options.socket.send(JSON.stringify(frame));
  }

  #print(style: "dim" | "green" | "cyan" | "red", text: string): void {
    this.#options.terminal.print(styled(style, text));
  }
}
