/** BusCalls between machines: requests that nothing stores, on subjects that prove both sides. */

import { messageOf } from "kit/core/text.ts";
import type { Context } from "../../data/context.ts";
import { BusError } from "../bus.ts";
import type { NatsConnection } from "./libraries.ts";
import { senderOf, SUBJECTS } from "./names.ts";

/**
 * Calls of other machines that are answered at once; further calls get no answer. It is more than
 * the daemon executes at a time, so that there is room for its refusals and for pings.
 */
const SERVED_MAX = 128;
const NONCE_BYTES = 8;
/** The server's status if the subject of a request has no listener. */
const NO_RESPONDERS = 503;

interface CallsDeps extends Pick<Context, "clock" | "ids" | "log"> {
  readonly daemonId: string;
  readonly answer: (from: string, request: Uint8Array) => Promise<Uint8Array | null>;
  /** The server does not permit the subscriptions. */
  readonly fail: (error: unknown) => void;
}

interface PendingCall {
  resolve(answer: Uint8Array): void;
  reject(error: BusError): void;
}

/**
 * The reply subject is always `mesh.answer.CALLER.CALLEE.NONCE`. The callee answers only on a
 * subject that names both, so no caller can make it publish elsewhere.
 */
export class BusCalls {
  readonly #connection: NatsConnection;
  readonly #deps: CallsDeps;
  /** By reply subject. */
  readonly #waiting = new Map<string, PendingCall>();
  #served = 0;

  constructor(connection: NatsConnection, deps: CallsDeps) {
    this.#connection = connection;
    this.#deps = deps;
    const { daemonId, fail } = deps;
    // Answers to own calls arrive before this machine takes part, so that it can ask for
    // permission.
    connection.subscribe(SUBJECTS.answers(daemonId), {
      callback: (error, { subject, data, headers }) => {
        if (error) return fail(error);
        const waiting = this.#waiting.get(subject);
        if (headers?.code === NO_RESPONDERS && data.length === 0) {
          waiting?.reject(new BusError("no_answer", "The other machine is not connected", "no"));
        } else waiting?.resolve(data);
      },
    });
  }

  /** Starts to answer calls. */
  listen(): void {
    const { daemonId, fail } = this.#deps;
    this.#connection.subscribe(SUBJECTS.calls(daemonId), {
      callback: (error, message) => {
        if (error) return fail(error);
        void this.#serve(message.subject, message.reply ?? "", message.data);
      },
    });
  }

  async call(to: string, request: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    const { clock, ids, daemonId } = this.#deps;
    const reply = SUBJECTS.answer(daemonId, to, ids.hex(NONCE_BYTES));
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    this.#waiting.set(reply, { resolve, reject });
    const cancel = clock.setTimer(
      timeoutMs,
      () => reject(new BusError("no_answer", "The other machine did not answer in time")),
    );
    try {
      this.#connection.publish(SUBJECTS.call(to, daemonId), request, { reply });
      return await promise;
    } finally {
      cancel();
      this.#waiting.delete(reply);
    }
  }

  /** Ends the calls that wait for an answer on this connection. */
  close(): void {
    for (const { reject } of this.#waiting.values()) {
      reject(new BusError("unreachable", "The connection to the bus was lost"));
    }
  }

  async #serve(subject: string, reply: string, request: Uint8Array): Promise<void> {
    const { daemonId, answer, log } = this.#deps;
    const from = senderOf(subject);
    const isOwnReply = from !== undefined &&
      reply.startsWith(SUBJECTS.answer(from, daemonId, "")) && reply.split(".").length === 5;
    if (!isOwnReply || this.#served >= SERVED_MAX) return;
    this.#served++;
    try {
      const bytes = await answer(from, request);
      if (bytes && !this.#connection.isClosed()) this.#connection.publish(reply, bytes);
    } catch (error) {
      log.warn("A call of another machine got no answer", { from, why: messageOf(error) });
    } finally {
      this.#served--;
    }
  }
}
