/** The verbs of the client: each waits for its result, also across a lost connection. */

import type { Frame } from "./connection.ts";
import { type MeshError, MeshRefused } from "./errors.ts";

interface Call {
  readonly frame: Frame;
  readonly resolve: (result: Frame) => void;
  readonly reject: (error: MeshError) => void;
}

/** Pause before a repeated request while the daemon still works on the first one. */
const IN_PROGRESS_MS = 250;

export class Verbs {
  readonly #send: (frame: Frame) => boolean;
  readonly #calls = new Map<string, Call>();
  /** Makes the ids of this client unique. */
  readonly #prefix = crypto.randomUUID();
  #count = 0;
  #ended: MeshError | undefined;

  constructor(send: (frame: Frame) => boolean) {
    this.#send = send;
  }

  /** Runs a verb. It is sent when there is a connection, and again after a lost one. */
  call(type: string, fields: Frame): Promise<Frame> {
    if (this.#ended) return Promise.reject(this.#ended);
    const request_id = `${this.#prefix}-${++this.#count}`;
    const isRepeatable = type === "ask" || type === "notify";
    const key = isRepeatable ? { idempotency_key: request_id } : {};
    const frame = { type, request_id, ...key, ...fields };
    return new Promise((resolve, reject) => {
      this.#calls.set(request_id, { frame, resolve, reject });
      this.#send(frame);
    });
  }

  /** Sends the requests that have no result yet again, in their order. */
  resend(): void {
    for (const { frame } of this.#calls.values()) this.#send(frame);
  }

  result({ type: _, request_id, ...result }: Frame): void {
    const call = this.#calls.get(String(request_id));
    if (!call) return;
    const { error } = result;
    if (error === "idempotency_in_progress") {
      return void setTimeout(() => this.#send(call.frame), IN_PROGRESS_MS);
    }
    this.#calls.delete(String(request_id));
    if (error === undefined) call.resolve(result);
    else call.reject(new MeshRefused(result));
  }

  end(error: MeshError): void {
    this.#ended = error;
    for (const { reject } of this.#calls.values()) reject(error);
    this.#calls.clear();
  }
}
