/** Answers calls: pings from every machine, requests from those that may administer this one. */

import { ForwardTime } from "kit/core/clock.ts";
import type { Context } from "../../data/context.ts";
import { readUpTo } from "kit/http/body.ts";
import { isProblem, Problem } from "protocol/problems.ts";
import { requestHeaders, responseHeaders } from "kit/net/tunnel/headers.ts";
import type { MachineSeal } from "../trust/seal.ts";
import { CALL_BYTES_MAX, CALL_MS_MAX, tooLarge } from "./bounds.ts";
import {
  answerContext,
  callContext,
  CallHead,
  decode,
  encode,
  type HeadAndBody,
  readFrame,
  type RequestHead,
} from "./codec.ts";
import type { AllowedMachines, NamedMachine } from "./machine_names.ts";

/** Maximum number of calls of other machines executed at once; further calls are refused. */
export const CALLS_AT_ONCE_MAX = 64;
/** A host name for the addresses of requests, which never leave this process. */
const BASE_URL = "http://call.invalid";

/** A calling machine, which may administer this machine. */
interface MachineCaller {
  readonly daemon_id: string;
  /** True if that machine has proved that a person calls there. */
  readonly human: boolean;
}

/** Answers a request of another machine by this daemon's own routes. */
export type AnswerMachine = (request: Request, caller: MachineCaller) => Promise<Response>;

interface CallServerDeps {
  readonly seal: MachineSeal;
  readonly administrators: Pick<AllowedMachines, "includes">;
  /** This machine. */
  readonly own: NamedMachine;
}

/** Bytes from the bus that are no call of the machine whose connection sent them. */
class CallRefused extends Error {
  override readonly name = "CallRefused";
}

export class CallServer {
  readonly #ctx: Pick<Context, "clock">;
  /** By a clock that was set back, all calls would be from before the start. */
  readonly #time: ForwardTime;
  readonly #deps: CallServerDeps;
  readonly #nonces: NonceMemory;
  #answer: AnswerMachine = () => Promise.resolve(new Problem("shutting_down", {}).toResponse());
  #running = 0;

  constructor(ctx: Pick<Context, "clock">, deps: CallServerDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#time = new ForwardTime(ctx.clock);
    this.#nonces = new NonceMemory(this.#time.now());
  }

  /** Answers requests from now on. */
  start(answer: AnswerMachine): void {
    this.#answer = answer;
  }

  /**
   * Answers one call. Rejects with `CallRefused` for a call that the machine did not write for this
   * one, and for a repeated call. The sender then gets no answer.
   */
  async receive(from: string, frame: Uint8Array): Promise<Uint8Array> {
    const { seal } = this.#deps;
    const { nonce, sealed } = readFrame(frame) ?? refuse("it has another form");
    const plain = seal.open(from, callContext(nonce), sealed) ?? refuse("it is not from there");
    const call = decode(CallHead, plain) ?? refuse("it has another form");
    return seal.seal(from, answerContext(nonce), await this.#answerTo(from, nonce, call));
  }

  async #answerTo(
    from: string,
    nonce: string,
    { head, body }: HeadAndBody<CallHead>,
  ): Promise<Uint8Array> {
    const { administrators, own } = this.#deps;
    if (head.kind === "ping") return encode({ kind: "pong", at: this.#ctx.clock.now() });
    if (!administrators.includes(from)) {
      const refusal = new Problem("machine_not_yours", { machine: own.name, caller: from });
      return await this.#encodeResponse(refusal.toResponse());
    }
    const now = this.#time.now();
    const checked = this.#nonces.check(`${from} ${nonce}`, head.at, now);
    if (checked === "wrong_time") return encode({ kind: "wrong_time", at: now });
    if (checked === "repeated") refuse("it was answered before");
    if (checked === "full" || this.#running >= CALLS_AT_ONCE_MAX) {
      const refusal = new Problem("too_many_requests", { retry_after_seconds: 1 });
      return await this.#encodeResponse(refusal.toResponse());
    }
    return await this.#run(from, { head, body });
  }

  async #run(daemon_id: string, { head, body }: HeadAndBody<RequestHead>): Promise<Uint8Array> {
    const abandoned = new AbortController();
    const cancel = this.#ctx.clock.setTimer(CALL_MS_MAX, () => abandoned.abort());
    this.#running++;
    try {
      const request = toRequest({ head, body }, abandoned.signal);
      return await this.#encodeResponse(
        await this.#answer(request, { daemon_id, human: head.human }),
      );
    } finally {
      this.#running--;
      cancel();
    }
  }

  /** A response that is too large becomes a refusal, although the request was executed. */
  async #encodeResponse(response: Response): Promise<Uint8Array> {
    const { status } = response;
    const headers = responseHeaders(response.headers);
    try {
      const body = await readUpTo(response.body, CALL_BYTES_MAX);
      if (!body) throw tooLarge("answer");
      return encode({ kind: "response", at: this.#ctx.clock.now(), status, headers }, body);
    } catch (error) {
      if (!isProblem(error, "call_too_large")) throw error;
      return await this.#encodeResponse(error.toResponse());
    }
  }
}

function refuse(why: string): never {
  throw new CallRefused(`The call is refused: ${why}`);
}

function toRequest({ head, body }: HeadAndBody<RequestHead>, signal: AbortSignal): Request {
  const { method, path, headers } = head;
  const hasBody = body.length > 0 && method !== "GET" && method !== "HEAD";
  return new Request(`${BASE_URL}${path}`, {
    method,
    headers: requestHeaders(headers).filter(([name]) => name !== "content-length"),
    ...(hasBody && { body }),
    signal,
  });
}

/** Maximum difference between the time of a call and this machine's clock. */
export const CALL_AGE_MS_MAX = 60_000;
/** Maximum number of calls remembered. A call is forgotten when its age alone refuses it. */
export const NONCES_MAX = 20_000;

type NonceCheck = "new" | "wrong_time" | "repeated" | "full";

/** Remembers answered calls, so that a stolen bus cannot have a call executed again. */
export class NonceMemory {
  /** Time at which each accepted call becomes too old, by its key, in the order of arrival. */
  readonly #expiries = new Map<string, number>();
  readonly #started_at: number;

  /** Refuses calls from before the start: the calls that the last run answered are not stored. */
  constructor(started_at: number) {
    this.#started_at = started_at;
  }

  /** `new` if a call may be answered. The same call is `repeated` the next time. */
  check(key: string, at: number, now: number): NonceCheck {
    if (Math.abs(now - at) > CALL_AGE_MS_MAX || at < this.#started_at) return "wrong_time";
    if (this.#expiries.has(key)) return "repeated";
    this.#forget(now);
    if (this.#expiries.size >= NONCES_MAX) return "full";
    this.#expiries.set(key, at + CALL_AGE_MS_MAX);
    return "new";
  }

  get size(): number {
    return this.#expiries.size;
  }

  /** Forgets calls that are too old, in the order of arrival, up to the first that is not. */
  #forget(now: number): void {
    for (const [key, expires_at] of this.#expiries) {
      if (expires_at >= now) return;
      this.#expiries.delete(key);
    }
  }
}
