/** The `/ws` protocol (contract 4): the handshake, then frames, each answered or rejected. */

import * as z from "zod";
import type { Context } from "../../data/context.ts";
import { acceptWebSocket, frameHandler } from "kit/net/frames.ts";
import { toConnection } from "kit/net/tunnel/connection.ts";
import { invalidRequest, Refusal } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import { VERSION } from "kit/core/version.ts";
import { tryJson } from "kit/core/text.ts";
import {
  CLOSE,
  type CloseReasonCode,
  Connect,
  FRAME_BYTES_MAX,
  Inbound,
  type Outbound,
  type Verb,
} from "../../features/messages/websocket/frames.ts";
import {
  BadFrameLimit,
  type Connection,
  Session,
} from "../../features/messages/websocket/session.ts";
import type { PeerSockets, SocketCaller } from "./peer_sockets.ts";

/** Frames that a client may send before its handshake is complete. */
const EARLY_FRAMES_MAX = 100;

/** The close codes of refused handshakes. */
const CLOSE_REASON_OF: { readonly [code: string]: CloseReasonCode } = {
  unauthorized: "unauthorized",
  identity_not_proven: "identity_not_proven",
  certificate_mismatch: "identity_not_proven",
  peer_retired: "peer_retired",
};

export class ProtocolSession {
  readonly #ctx: Context;
  readonly #peerSockets: PeerSockets;
  readonly #connection: Connection;
  readonly #caller: SocketCaller;
  readonly #badFrameLimit = new BadFrameLimit();
  readonly #earlyFrames: string[] = [];
  #handshakeState: "waiting" | "running" | "done" = "waiting";
  #session: Session | undefined;
  /** True if the connection sent the hooks' token, which allows no verbs. */
  #isReporter = false;
  #closed = false;

  constructor(
    ctx: Context,
    peerSockets: PeerSockets,
    connection: Connection,
    caller: SocketCaller,
  ) {
    this.#ctx = ctx;
    this.#peerSockets = peerSockets;
    this.#connection = connection;
    this.#caller = caller;
  }

  /** Handles one text frame from the client. */
  receive(text: string): void {
    if (text.length > FRAME_BYTES_MAX) return this.rejectFrame("The frame is larger than 1 MiB");
    if (this.#handshakeState === "done") {
      return this.#withErrorFrame(() => ProtocolSession.#receive(this, text));
    }
    if (this.#handshakeState === "waiting") return this.#receiveConnect(text);
    if (this.#earlyFrames.length < EARLY_FRAMES_MAX) this.#earlyFrames.push(text);
    else this.#close("too_many_bad_frames");
  }

  /** Called when either side has closed the socket. */
  closed(): void {
    this.#closed = true;
    const session = this.#session;
    this.#session = undefined;
    if (session) this.#withErrorFrame(() => this.#peerSockets.detach(session));
  }

  /** Rejects a frame. The socket stays open, unless too many frames were rejected. */
  rejectFrame(detail: string): void {
    if (this.#handshakeState !== "done") return this.#refuse("bad_frame", detail, "bad_field");
    this.#sendFrame({ type: "error", error: "bad_frame", detail });
    if (this.#badFrameLimit.isExceeded(this.#ctx.clock.monotonic())) {
      this.#close("too_many_bad_frames");
    }
  }

  static readonly #receive = frameHandler<ProtocolSession, typeof Inbound>(Inbound, {
    delivery_ack: (self, ack) =>
      self.#session && self.#peerSockets.receipts.receipt(self.#session, ack),
    status: (self, { type: _, ...turn }) =>
      self.#session && self.#peerSockets.reportTurn(self.#session.peer_id, turn),
    chat_turn: (self, chat) =>
      self.#session && self.#peerSockets.reportChat(self.#session.peer_id, chat),
    subagent: (self, { agent_id, agent_type: type, phase }) =>
      self.#session &&
      self.#peerSockets.reportSubagent(self.#session.peer_id, { agent_id, type, phase }),
    compacted: (self) => self.#session && self.#peerSockets.reportCompaction(self.#session.peer_id),
    pong: (self) => self.#session?.pongReceived(),
    ask: (self, verb) => void self.#verb(verb),
    notify: (self, verb) => void self.#verb(verb),
    ack: (self, verb) => void self.#verb(verb),
    decline: (self, verb) => void self.#verb(verb),
    answer: (self, verb) => void self.#verb(verb),
  });

  /** Runs a verb and sends its `result`. The verb's route waits for the commit of its writes. */
  async #verb(verb: Verb): Promise<void> {
    const session = this.#session;
    if (!session) return;
    const { request_id } = verb;
    try {
      if (this.#isReporter) throw new Problem("unauthorized", {});
      const answer = await this.#peerSockets.verb(session, verb, this.#caller);
      this.#sendFrame({ type: "result", request_id, ...answer });
    } catch (thrown) {
      this.#sendFrame({ type: "result", request_id, ...this.#toErrorBody(thrown) });
    }
  }

  /** Reports an error of `work` to the sender of the frame. It ends neither socket nor process. */
  #withErrorFrame(work: () => void): void {
    try {
      work();
    } catch (thrown) {
      const { error, detail } = this.#toErrorBody(thrown);
      this.#sendFrame({ type: "error", error, detail });
    }
  }

  #receiveConnect(text: string): void {
    const json = tryJson(text);
    const { type } = typeof json === "object" && json !== null ? json as { type?: unknown } : {};
    if (type !== "connect") {
      return this.#refuse(
        "not_connect",
        'The first frame must be a "connect" frame',
        "not_connect",
      );
    }
    const connect = Connect.safeParse(json);
    if (!connect.success) {
      const { summary } = invalidRequest(connect.error).fields;
      return this.#refuse("invalid_request", summary, "bad_field");
    }
    this.#handshakeState = "running";
    const handshake = this.#handshake(connect.data).catch((thrown) => {
      this.#refuse("internal", "Internal error: see the daemon's log", "bad_field");
      throw thrown;
    });
    void this.#ctx.background.run("A handshake failed", handshake);
  }

  async #handshake(connect: Connect): Promise<void> {
    try {
      const callerKind = this.#peerSockets.authorize(connect, this.#caller);
      if (callerKind === undefined) throw new Problem("unauthorized", {});
      this.#isReporter = callerKind === "reporter";
      const { mesh_session_id, ...identity } = await this.#peerSockets.handshake.run(
        connect,
        this.#caller,
      );
      await this.#ctx.db.whenDurable();
      if (this.#closed) return;
      const session = new Session(this.#connection, identity, this.#ctx.clock);
      const { peer_id, display_name } = identity;
      this.#session = session;
      this.#handshakeState = "done";
      this.#sendFrame({
        type: "connected",
        peer_id,
        session_id: peer_id,
        display_name,
        mesh_session_id,
        server_version: VERSION,
      });
      this.#peerSockets.attach(session);
      for (const text of this.#earlyFrames.splice(0)) this.receive(text);
    } catch (thrown) {
      const { error, detail } = this.#toErrorBody(thrown);
      this.#refuse(error, detail, CLOSE_REASON_OF[error] ?? "bad_field");
    }
  }

  #toErrorBody(thrown: unknown) {
    if (thrown instanceof Refusal) return thrown.toBody();
    if (thrown instanceof z.ZodError) return invalidRequest(thrown).toBody();
    this.#ctx.background.failed("A frame failed", thrown);
    return new Problem("internal", {}).toBody();
  }

  #refuse(error: string, detail: string, why: CloseReasonCode): void {
    this.#sendFrame({ type: "error", error, detail });
    this.#close(why);
  }

  #sendFrame(frame: Outbound): void {
    if (this.#connection.open) this.#connection.send(JSON.stringify(frame));
  }

  #close(why: CloseReasonCode): void {
    if (this.#connection.open) this.#connection.close(CLOSE[why], why);
  }
}

/** Upgrades a request to a protocol session. `onClosed` is called once the socket really closed. */
export function upgrade(
  request: Request,
  openProtocolSession: (connection: Connection) => ProtocolSession,
  onClosed: () => void = () => undefined,
): Response {
  const { socket, response } = acceptWebSocket(request);
  const connection = toConnection(socket, {
    opened: () => undefined,
    received(data) {
      if (typeof data === "string") protocolSession.receive(data);
      else protocolSession.rejectFrame("The frame is not text");
    },
    closed: () => protocolSession.closed(),
  });
  socket.addEventListener("close", onClosed);
  const protocolSession = openProtocolSession(connection);
  return response;
}
