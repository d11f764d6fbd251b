/** Handlers that the owner of the links provides, and the form of entries. */

import type { Context } from "../../data/context.ts";
import type { ClockAhead } from "../other_clock.ts";
import type { Tx } from "kit/data/sqlite.ts";
import { isProblem } from "protocol/problems.ts";
import type { Reason } from "protocol/reasons.ts";

/** An entry of a link. */
export interface LinkEntry {
  /** 16 random hex digits, which tell a repeat from a new entry. */
  readonly tag: string;
  readonly kind: string;
  readonly body: unknown;
  /** When it was appended, in milliseconds by the clock of the machine that appended it. */
  readonly at: number;
}

/** An entry that the owner of the links refuses. Its sender gets the reason. */
export class EntryRefused extends Error {
  override readonly name = "EntryRefused";
  readonly reason: Reason;

  constructor(reason: Reason) {
    super(`The entry is refused: ${reason}`);
    this.reason = reason;
  }
}

/** Signs and encrypts batches. */
export interface LinkSealing {
  /** Null while no key of the machine is known: the batch waits. */
  seal(to: string, bytes: Uint8Array): Uint8Array | null;
  /** Null if the bytes are not from that machine, or its key is unknown: they are dropped. */
  open(from: string, bytes: Uint8Array): Uint8Array | null;
}

/**
 * Called in the transaction that stores the matching change of the link. After `storage_failed`,
 * that transaction is rolled back and repeated later. Any other error of `apply` refuses the entry,
 * with its reason if it is an `EntryRefused` or a problem. Any other error of the other handlers is
 * logged, and the link continues.
 */
export interface LinkHandlers {
  /** Applies an entry of another machine. Its writes are rolled back if it throws. */
  apply(tx: Tx, from: string, entry: LinkEntry): void;
  /**
   * The bus has stored these entries. Called again for the same entries after a crash, and when
   * they are published again, even if they were applied before: it must be idempotent.
   */
  published(tx: Tx, to: string, entries: readonly LinkEntry[]): void;
  /** The other machine has applied these entries. Called once for each. */
  confirmed(tx: Tx, to: string, entries: readonly LinkEntry[]): void;
  /**
   * The other machine does not apply this entry. Called once. `reason` is the code of a problem,
   * `expired`, or `too_large` where the bus does not take the entry.
   */
  refused(tx: Tx, to: string, entry: LinkEntry, reason: string): void;
  /**
   * These entries are too old to be sent, and the links have dropped them. Called once for each.
   * An entry that was published before may have been applied without a confirmation.
   */
  expired(tx: Tx, to: string, entries: readonly LinkEntry[]): void;
  /**
   * The other machine has lost entries that it had confirmed: its database was restored, or its
   * disk rolled back. It still has the entries that it applied before `since`. May be called again
   * for the same loss.
   */
  wentBack(tx: Tx, to: string, since: number): void;
}

export interface LinksDeps extends Pick<Context, "db" | "clock" | "ids" | "log"> {
  /** Resolves once the bus has stored the batch. Rejects with a `BusError`. */
  send(to: string, id: string, bytes: Uint8Array): Promise<void>;
  /** Uploads what entries name, before their batch is sent. Rejects with a `BusError`. */
  prepare(to: string, entries: readonly LinkEntry[]): Promise<void>;
  /** Fetches what entries name, before they are applied. Rejects if that must be repeated later. */
  fetch(from: string, entries: readonly LinkEntry[]): Promise<void>;
  readonly clockAheadOf: (daemon_id: string) => ClockAhead;
  /** Measures the machine's clock against this one's, if it answers. Never rejects. */
  readonly measureClock: (daemon_id: string) => Promise<void>;
  readonly sealing: LinkSealing;
  /** A function, because the owner of the links is built after them. */
  readonly handlers: () => LinkHandlers;
}

/** The arguments after the transaction, of each handler except `apply`. */
type HandlerArguments = {
  [Name in Exclude<keyof LinkHandlers, "apply">]: Parameters<LinkHandlers[Name]> extends
    [Tx, ...infer Rest] ? Rest : never;
};
type CalledHandlers = {
  [Name in keyof HandlerArguments]: (tx: Tx, ...args: HandlerArguments[Name]) => void;
};

/** Calls a handler. Only an error of the storage stops the link. */
export function callHandler<Name extends keyof HandlerArguments>(
  { db, handlers, log }: LinksDeps,
  handler: Name,
  ...args: HandlerArguments[Name]
): void {
  const called: CalledHandlers = handlers();
  try {
    db.transactNested((tx) => called[handler](tx, ...args));
  } catch (error) {
    if (isProblem(error, "storage_failed")) throw error;
    log.error("A handler of a link failed", { handler, error });
  }
}
