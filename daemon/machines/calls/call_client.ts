/** Calls another machine over the bus: its routes, and its clock. */

import type { Context } from "../../data/context.ts";
import { UNCACHED_HEADERS } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import { requestHeaders, responseHeaders } from "kit/net/tunnel/headers.ts";
import { type Bus, BusError, type BusFailure } from "../bus.ts";
import type { MachineSeal } from "../trust/seal.ts";
import { CALL_MS_MAX, tooLarge } from "./bounds.ts";
import {
  answerContext,
  AnswerHead,
  callContext,
  type CallHead,
  decode,
  encode,
  type HeadAndBody,
  NONCE_BYTES,
  type RequestHead,
  toFrame,
} from "./codec.ts";
import type { MachineNames, NamedMachine } from "./machine_names.ts";

const PING_MS_MAX = 5000;

// deno-fmt-ignore
const REASONS: Readonly<Record<BusFailure, string>> = {
  unreachable:   "this machine is not connected to the bus",
  full:          "the bus takes nothing more",
  too_large:     "the call is too large for the bus",
  not_permitted: "the bus does not permit this machine to call it",
  no_answer:     "it does not answer",
  failed:        "the bus failed",
};

export interface CallClientDeps {
  readonly bus: Pick<Bus, "call">;
  readonly machines: MachineNames;
  readonly seal: MachineSeal;
  /** Known difference by which a machine's clock is ahead of this one's, in milliseconds. */
  readonly clockAheadOf: (daemon_id: string) => number | null;
}

/** A request for another machine. */
interface MachineRequest {
  readonly method: RequestHead["method"];
  /** With the query, percent-encoded. */
  readonly path: `/${string}`;
  readonly headers: Headers;
  readonly body?: Uint8Array;
  /** True if this machine has proved that a person calls. */
  readonly human: boolean;
}

/** The clock of another machine, and when it was read by the clock of this one. */
export interface ClockReading {
  readonly sent_at: number;
  readonly received_at: number;
  readonly their_time: number;
}

/** Difference by which the other clock is ahead, if both ways took the same time. */
export function aheadBy({ sent_at, received_at, their_time }: ClockReading): number {
  return Math.round(their_time - (sent_at + received_at) / 2);
}

interface Answer extends HeadAndBody<AnswerHead> {
  readonly clock: ClockReading;
}

export class CallClient {
  readonly #ctx: Pick<Context, "clock" | "ids">;
  readonly #deps: CallClientDeps;

  constructor(ctx: Pick<Context, "clock" | "ids">, deps: CallClientDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** The machine that an argument names: a daemon id or a name. */
  mustFind(machine: string): NamedMachine {
    const found = this.#deps.machines.find(machine);
    if (!found) throw new Problem("unknown_machine_name", { machine });
    return found;
  }

  /**
   * Calls a route of another machine, as a program of that machine would, and returns its response.
   * Refuses with `machine_unreachable` if no response comes. A call that the other machine refused
   * for its time is sent once more, by that machine's clock: nothing was done.
   */
  async call(to: NamedMachine, request: MachineRequest): Promise<Response> {
    const ahead = this.#deps.clockAheadOf(to.daemon_id) ?? 0;
    const first = await this.#callAt(to, request, ahead);
    const answer = first.head.kind === "wrong_time"
      ? await this.#callAt(to, request, aheadBy(first.clock))
      : first;
    const { head } = answer;
    if (head.kind === "response") return toResponse(head, request.method, answer.body);
    throw unreachable(to, "its clock changes too much to tell old calls from new ones", false);
  }

  /** Reads the clock of another machine. */
  async ping(to: NamedMachine): Promise<ClockReading> {
    const ping: CallHead = { kind: "ping", at: this.#ctx.clock.now() };
    const { head, clock } = await this.#send(to, encode(ping), PING_MS_MAX);
    if (head.kind === "pong") return clock;
    throw unreachable(to, "its answer is no answer to a ping", true);
  }

  #callAt(to: NamedMachine, request: MachineRequest, ahead_ms: number): Promise<Answer> {
    const { method, path, human, body } = request;
    const at = this.#ctx.clock.now() + ahead_ms;
    const headers = requestHeaders(request.headers);
    const head: CallHead = { kind: "request", at, human, method, path, headers };
    return this.#send(to, encode(head, body), CALL_MS_MAX);
  }

  async #send(to: NamedMachine, plain: Uint8Array, timeout_ms: number): Promise<Answer> {
    const { clock, ids } = this.#ctx;
    const { bus, seal } = this.#deps;
    const nonce = ids.hex(NONCE_BYTES);
    const frame = toFrame(nonce, seal.seal(to.daemon_id, callContext(nonce), plain));
    const sent_at = clock.now(), began_at = clock.boottime();
    const sealed = await callBus(bus, to, frame, timeout_ms);
    const opened = seal.open(to.daemon_id, answerContext(nonce), sealed);
    const answer = opened && decode(AnswerHead, opened);
    if (!answer) throw unreachable(to, "what came as its answer is not from it", true);
    const their_time = answer.head.at;
    const took_ms = Math.round(clock.boottime() - began_at);
    return { ...answer, clock: { sent_at, received_at: sent_at + took_ms, their_time } };
  }
}

async function callBus(
  bus: Pick<Bus, "call">,
  to: NamedMachine,
  frame: Uint8Array,
  timeout_ms: number,
): Promise<Uint8Array> {
  try {
    return await bus.call(to.daemon_id, frame, timeout_ms);
  } catch (error) {
    if (!(error instanceof BusError)) throw error;
    if (error.reason === "too_large") throw tooLarge("request");
    throw unreachable(to, REASONS[error.reason], error.stored !== "no");
  }
}

function unreachable(
  { name: machine }: NamedMachine,
  reason: string,
  may_have_been_delivered: boolean,
): Problem {
  return new Problem("machine_unreachable", { machine, reason, may_have_been_delivered });
}

/** Statuses whose responses have no body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

function toResponse(
  { status, headers }: Extract<AnswerHead, { kind: "response" }>,
  method: string,
  body: Uint8Array<ArrayBuffer>,
): Response {
  const allowed = responseHeaders(headers).filter(([name]) => name !== "content-length");
  const hasBody = method !== "HEAD" && !BODILESS.has(status);
  return new Response(hasBody ? body : null, {
    status,
    headers: [...allowed, ...Object.entries(UNCACHED_HEADERS)],
  });
}
