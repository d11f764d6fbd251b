/** The `/ws` protocol (contract 4): the greeting, then frames, each answered or corrected. */

import * as z from "zod";
import type { Ground } from "kit/data/context.ts";
import { dispatcher, nextTurn, socketOf, whenQuiet } from "kit/net/frames.ts";
import { invalidRequest, Problem } from "kit/core/problem.ts";
import { tryJson } from "kit/core/text.ts";
import type { Chat, Turn } from "../../features/peers/contract.ts";
import {
  CLOSE,
  type CloseReasonCode,
  Connect,
  type DeliveryAck,
  FRAME_BYTES_MAX,
  Inbound,
  type Outbound,
  type Verb,
} from "../../features/messages/websocket/frames.ts";
import {
  type Identity,
  type Line,
  Patience,
  Session,
} from "../../features/messages/websocket/session.ts";

/** Frames that a client may send before it was greeted. */
const EARLY_FRAMES_MAX = 100;

/** What the upgrade itself proved. */
export interface Proof {
  readonly authorized: boolean;
}

/** What the wire needs of the house. */
export interface WireNeeds {
  readonly version: string;
  /** What a connection may do: all, report only what its agent saw, or nothing. */
  authorized(connect: Connect): "caller" | "reporter" | undefined;
  /** Registers the connection's peer, or refuses with a problem. */
  greet(connect: Connect): Promise<Identity & { readonly mesh_session_id: string | null }>;
  attach(session: Session): void;
  detach(session: Session): void;
  receipt(session: Session, ack: DeliveryAck): void;
  turn(peer_id: string, turn: Turn): void;
  chat(peer_id: string, said: Chat): void;
  /** Does a verb as this peer; its answer as the wire shows it. */
  verb(session: Session, verb: Verb): Promise<Record<string, unknown>>;
}

/** A refusal of the greeting, and the code that the socket closes with. */
const REFUSALS: { readonly [code: string]: CloseReasonCode } = {
  unauthorized: "unauthorized",
  identity_not_proven: "identity_not_proven",
  certificate_mismatch: "identity_not_proven",
  peer_retired: "peer_retired",
};

export class Wire {
  readonly #ground: Ground;
  readonly #needs: WireNeeds;
  readonly #line: Line;
  readonly #proof: Proof;
  readonly #patience = new Patience();
  readonly #early: string[] = [];
  #greeted: "no" | "greeting" | "yes" = "no";
  #session: Session | undefined;
  /** It came with the token of hooks, which is good for no verb. */
  #reports = false;
  #closed = false;

  constructor(ground: Ground, needs: WireNeeds, line: Line, proof: Proof) {
    this.#ground = ground;
    this.#needs = needs;
    this.#line = line;
    this.#proof = proof;
  }

  /** One frame of text from the client. */
  receive(text: string): void {
    if (text.length > FRAME_BYTES_MAX) return this.correct("The frame is larger than 1 MiB");
    if (this.#greeted === "yes") return this.#guard(() => receive(this, text));
    if (this.#greeted === "no") return this.#begin(text);
    if (this.#early.length < EARLY_FRAMES_MAX) this.#early.push(text);
    else this.#end("too_many_bad_frames");
  }

  /** The socket is gone, whoever closed it. */
  closed(): void {
    this.#closed = true;
    const session = this.#session;
    this.#session = undefined;
    if (session) this.#guard(() => this.#needs.detach(session));
  }

  /** Answers a frame that cannot be taken; the socket stays open. */
  correct(detail: string): void {
    if (this.#greeted !== "yes") return this.#refuse("bad_frame", detail, "bad_field");
    this.#say({ type: "error", error: "bad_frame", detail });
    if (this.#patience.spent(this.#ground.clock.now())) this.#end("too_many_bad_frames");
  }

  receipt(ack: DeliveryAck): void {
    if (this.#session) this.#needs.receipt(this.#session, ack);
  }

  turn(turn: Turn): void {
    if (this.#session) this.#needs.turn(this.#session.peer_id, turn);
  }

  chat(said: Chat): void {
    if (this.#session) this.#needs.chat(this.#session.peer_id, said);
  }

  pong(): void {
    this.#session?.heard();
  }

  /** Does a verb and answers it with `result`, once what it did is on the disk. */
  async verb(verb: Verb): Promise<void> {
    const session = this.#session;
    if (!session) return;
    const { request_id } = verb;
    try {
      if (this.#reports) throw new Problem("unauthorized", {});
      const answer = await this.#needs.verb(session, verb);
      await this.#ground.db.durable();
      this.#say({ type: "result", request_id, ...answer });
    } catch (fault) {
      this.#say({ type: "result", request_id, ...this.#explain(fault) });
    }
  }

  /** A fault while a frame is taken is told to its sender; it ends neither socket nor process. */
  #guard(work: () => void): void {
    try {
      work();
    } catch (fault) {
      const { error, detail } = this.#explain(fault);
      this.#say({ type: "error", error, detail });
    }
  }

  #begin(text: string): void {
    const json = tryJson(text);
    const { type } = typeof json === "object" && json !== null ? json as { type?: unknown } : {};
    if (type !== "connect") {
      return this.#refuse("not_connect", "The first frame is not connect", "not_connect");
    }
    const connect = Connect.safeParse(json);
    if (!connect.success) {
      const { summary } = invalidRequest(connect.error).fields;
      return this.#refuse("invalid_request", summary, "bad_field");
    }
    this.#greeted = "greeting";
    this.#greet(connect.data).catch((fault) => {
      this.#ground.log.error("A greeting failed", { fault });
      this.#refuse("internal", "A fault of the daemon; its log has the cause", "bad_field");
    });
  }

  async #greet(connect: Connect): Promise<void> {
    try {
      const as = this.#proof.authorized ? "caller" : this.#needs.authorized(connect);
      if (as === undefined) throw new Problem("unauthorized", {});
      this.#reports = as === "reporter";
      const { mesh_session_id, ...identity } = await this.#needs.greet(connect);
      await this.#ground.db.durable();
      if (this.#closed) return;
      const session = new Session(this.#line, identity, this.#ground.clock.now());
      const { peer_id, display_name } = identity;
      const { version } = this.#needs;
      this.#session = session;
      this.#greeted = "yes";
      this.#say({
        type: "connected",
        peer_id,
        display_name,
        mesh_session_id,
        server_version: version,
      });
      this.#needs.attach(session);
      for (const text of this.#early.splice(0)) this.receive(text);
    } catch (fault) {
      const { error, detail } = this.#explain(fault);
      this.#refuse(error, detail, REFUSALS[error] ?? "bad_field");
    }
  }

  #explain(fault: unknown) {
    if (fault instanceof Problem) return fault.toBody();
    if (fault instanceof z.ZodError) return invalidRequest(fault).toBody();
    this.#ground.log.error("A frame failed", { fault });
    return new Problem("internal", {}).toBody();
  }

  #refuse(error: string, detail: string, why: CloseReasonCode): void {
    this.#say({ type: "error", error, detail });
    this.#end(why);
  }

  #say(frame: Outbound): void {
    if (this.#line.open) this.#line.send(JSON.stringify(frame));
  }

  #end(why: CloseReasonCode): void {
    if (this.#line.open) this.#line.close(CLOSE[why], why);
  }
}

const receive = dispatcher<Wire, typeof Inbound>(Inbound, {
  delivery_ack: (wire, ack) => wire.receipt(ack),
  status: (wire, { type: _, ...turn }) => wire.turn(turn),
  chat_turn: (wire, said) => wire.chat(said),
  pong: (wire) => wire.pong(),
  ask: (wire, verb) => void wire.verb(verb),
  notify: (wire, verb) => void wire.verb(verb),
  ack: (wire, verb) => void wire.verb(verb),
  decline: (wire, verb) => void wire.verb(verb),
  answer: (wire, verb) => void wire.verb(verb),
});

/**
 * Turns a request into a socket, and the socket into a line with a wire on it. `gone` is called
 * when the socket is really closed, and not when it was only told to be.
 */
export function upgrade(
  request: Request,
  wireOn: (line: Line) => Wire,
  gone: () => void = () => undefined,
): Response {
  const { socket, response } = socketOf(request);
  let closing = false;
  let heard = 0;
  const line: Line = {
    get open() {
      return !closing && socket.readyState === WebSocket.OPEN;
    },
    get buffered() {
      return socket.bufferedAmount;
    },
    send: (text) => socket.send(text),
    close(code, reason) {
      if (closing) return;
      closing = true;
      // With more to read after it said why, the runtime drops the line, and what it said is lost.
      whenQuiet(() => heard, () => socket.close(code, reason));
      // A reader that takes nothing never says that it heard of its end.
      nextTurn(() => wire.closed());
    },
  };
  const wire = wireOn(line);
  socket.onmessage = ({ data }) => {
    heard++;
    if (closing) return;
    if (typeof data === "string") wire.receive(data);
    else wire.correct("The frame is not text");
  };
  socket.onclose = () => {
    wire.closed();
    gone();
  };
  return response;
}
