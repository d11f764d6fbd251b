/** One of the two agents of the demo: a small program that speaks `/ws`, and shows what is said. */

import * as z from "zod";
import { readSettings } from "../client/daemon_client.ts";
import { runningDaemon, type RuntimeInfo } from "../../daemon/host/runtime_file.ts";
import { type Session } from "../command/command.ts";
import { EXIT, Failed } from "../client/failures.ts";
import { ink, print, type Terminal } from "../output/print.ts";

/** The frames of contract 4, as far as a peer that only talks reads them. */
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

/** What a peer says, and when. */
interface Part {
  readonly opening?: Line;
  readonly answer?: string;
  readonly onAnswer?: Line;
  readonly onNotify?: Line;
}

interface Line {
  readonly type: "ask" | "notify";
  readonly to_peer: string;
  readonly text: string;
}

export const DEMO_HUMAN = "sam";
const DEMO_CIRCLE = "demo";

/** The whole play. `web` opens it as soon as it is connected. */
export const PARTS = {
  api: {
    answer: "On 8080, since this morning.",
    onNotify: { type: "ask", to_peer: DEMO_HUMAN, text: "May I restart the API now?" },
  },
  web: {
    opening: { type: "ask", to_peer: "api", text: "Which port does the API listen on?" },
    onAnswer: { type: "notify", to_peer: "api", text: "Thanks. The proxy points to 8080 now." },
  },
} as const satisfies Record<string, Part>;

export type DemoName = keyof typeof PARTS;

export async function runDemoPeer(session: Session, name: string): Promise<number> {
  const { env, terminal } = session;
  const part = new Map<string, Part>(Object.entries(PARTS)).get(name);
  if (!part) throw new Failed(`The demo has no part for "${name}"`);
  const beacon = runningDaemon(env);
  if (!beacon) throw new Failed("The demo's daemon is not up");
  const auth_token = readSettings(env)["daemon.auth_token"]?.reveal();
  const { promise: over, resolve } = Promise.withResolvers<number>();
  const peer = new DemoPeer({ name, part, terminal, socket: socketTo(beacon), over: resolve });
  peer.open(auth_token);
  return await over;
}

function socketTo({ url }: RuntimeInfo): WebSocket {
  return new WebSocket(new URL("/ws", url.replace(/^http/, "ws")));
}

interface Cast {
  readonly name: string;
  readonly part: Part;
  readonly terminal: Terminal;
  readonly socket: WebSocket;
  readonly over: (code: number) => void;
}

class DemoPeer {
  readonly #cast: Cast;
  #requests = 0;

  constructor(cast: Cast) {
    this.#cast = cast;
  }

  open(auth_token: string | undefined): void {
    const { name, socket, over } = this.#cast;
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
      // A daemon may say more than a small peer understands.
      if (frame.success) this.#hear(frame.data);
    };
    socket.onclose = ({ code, reason }) => {
      this.#say("dim", `The connection has ended: ${code} ${reason}`);
      over(EXIT.done);
    };
  }

  #hear(frame: Frame): void {
    const { part } = this.#cast;
    switch (frame.type) {
      case "connected":
        this.#say("dim", `${frame.display_name} is connected`);
        return this.#speak(part.opening);
      case "ask":
        this.#receive(frame, "asks");
        if (part.answer === undefined) return;
        this.#say("green", `→ ${frame.from_peer}: ${part.answer}`);
        return this.#request("ack", {
          correlation_id: frame.correlation_id,
          message: part.answer,
        });
      case "notify":
        this.#receive(frame, "says");
        return this.#speak(part.onNotify);
      case "ack":
        this.#receive({ ...frame, text: frame.text ?? "" }, frame.outcome ?? "closed");
        return this.#speak(part.onAnswer);
      case "ping":
        return this.#send({ type: "pong", ping_id: frame.ping_id });
      case "result":
        if (frame.error) this.#say("red", `refused: ${frame.detail ?? frame.error}`);
        return;
      case "error":
        return this.#say("red", `${frame.error}: ${frame.detail}`);
    }
  }

  #receive(
    { delivery_id, from_peer, text }: { delivery_id: string; from_peer: string; text: string },
    how: string,
  ): void {
    this.#say("cyan", `← ${from_peer} ${how}: ${text}`);
    this.#send({ type: "delivery_ack", delivery_id, status: "seen" });
  }

  #speak(line: Line | undefined): void {
    if (!line) return;
    this.#say("green", `→ ${line.to_peer}: ${line.text}`);
    this.#request(line.type, { to_peer: line.to_peer, text: line.text });
  }

  #request(type: string, fields: Record<string, unknown>): void {
    this.#send({ type, request_id: String(++this.#requests), ...fields });
  }

  #send(frame: Record<string, unknown>): void {
    this.#cast.socket.send(JSON.stringify(frame));
  }

  #say(style: "dim" | "green" | "cyan" | "red", text: string): void {
    print(this.#cast.terminal, ink(style, text));
  }
}
