/** Proofs of a message's request, which the API layer collects for the features' routes. */

import type { Caller } from "kit/http/route.ts";
import type { Directory } from "../peers/directory.ts";

export interface RequestContext {
  /** True if the request has a proven human origin (contract 2). */
  readonly proven_human: boolean;
  /** True if nothing proves that the caller is the sender (contract 11). */
  readonly unverified?: boolean | undefined;
  /** True if the request comes through a relay or from another machine. */
  readonly is_elsewhere?: boolean | undefined;
  /** The name of the calling person in a frame. */
  readonly sent_by?: string | undefined;
  /** The way in of the request, if no program on this machine sends it. */
  readonly via?: Caller["via"] | undefined;
  /** Where a person acts: `terminal`, `dashboard`, `relay`, or a chat surface. */
  readonly surface?: string | undefined;
  /** Finds the registered peer whose process sends the request. */
  readonly calling_peer?: (() => string | undefined) | undefined;
  readonly traceparent?: string | undefined;
  /** True if the recipient may be the sender: of a schedule, or of a message after a restart. */
  readonly may_be_caller?: boolean | undefined;
  /** The job, schedule or subscription that sends, whose budget the message counts to. */
  readonly caused_by?: string | undefined;
}

export interface CallerChecks {
  requestContextOf(caller: Caller, headers: Headers): RequestContext;
  /** True if an answer or a reply through a surface counts as the human's (contract 2). */
  isHumanAnswer(caller: Caller, headers: Headers, surface?: string): boolean;
  readonly whileConnected: WhileConnected;
}

/** Waits for `work`, whose signal aborts when the caller hangs up. */
export type WhileConnected = <T>(
  caller: Caller,
  signal: AbortSignal,
  work: (signal: AbortSignal) => T | Promise<T>,
) => Promise<T>;

/** The function by which an idempotent route recognizes the sender of a repeated request. */
export function senderOf(directory: Directory) {
  return ({ body }: { body: { from_peer: string; circle?: string | undefined } }): string =>
    directory.senderId(body.from_peer, { circle: body.circle });
}
