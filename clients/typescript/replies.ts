/** The replies to this peer's asks, and the promises that wait for them. */

import type { Frame } from "./connection.ts";
import { AskEnded, AskTimeout, type MeshError } from "./errors.ts";
import type { Reply } from "./messages.ts";

interface Waiter {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: MeshError) => void;
}

/** The end of an ask: a reply, or the reason for its absence. */
type End = Reply | AskEnded;

/** An ask that is under way. */
interface ExpectedReply {
  /** Waits for the reply, once the id of the ask is known. */
  reply(id: string, timeout_ms: number | undefined): Promise<Reply>;
  /** Called when nobody waits for it any more. */
  forget(): void;
}

export class Replies {
  readonly #waiters = new Map<string, Waiter>();
  /** Number of asks without an id. A reply that nobody waits for may belong to one of them. */
  #unnamed = 0;
  readonly #unclaimed = new Map<string, End>();
  onLate: (reply: Reply) => void = () => undefined;

  take(reply: Reply, { outcome, close_reason, text }: Frame): void {
    const { correlationId: id } = reply;
    const isAnswered = outcome === "answered" || outcome === "acknowledged";
    const end = isAnswered ? reply : new AskEnded(id, String(close_reason), text as string | null);
    const waiter = this.#waiters.get(id);
    if (waiter) return settle(waiter, end);
    this.#unclaimed.set(id, end);
    this.#releaseUnclaimed();
  }

  /** Announces an ask. After a lost connection, its reply may come before its id is known. */
  expect(): ExpectedReply {
    this.#unnamed++;
    let hasId = false;
    const named = () => {
      if (!hasId) this.#unnamed--;
      hasId = true;
      this.#releaseUnclaimed();
    };
    return {
      reply: (id, timeout_ms) => {
        const waiting = this.#wait(id, timeout_ms);
        named();
        return waiting;
      },
      forget: named,
    };
  }

  end(error: MeshError): void {
    for (const waiter of [...this.#waiters.values()]) waiter.reject(error);
  }

  #wait(id: string, timeout_ms: number | undefined): Promise<Reply> {
    const early = this.#unclaimed.get(id);
    this.#unclaimed.delete(id);
    return new Promise((resolve, reject) => {
      if (early) return settle({ resolve, reject }, early);
      const timer = timeout_ms === undefined ? undefined : setTimeout(() => {
        waiter.reject(new AskTimeout(id, timeout_ms));
      }, timeout_ms);
      const finish = () => {
        clearTimeout(timer);
        this.#waiters.delete(id);
      };
      const waiter: Waiter = {
        resolve: (reply) => (finish(), resolve(reply)),
        reject: (error) => (finish(), reject(error)),
      };
      this.#waiters.set(id, waiter);
    });
  }

  #releaseUnclaimed(): void {
    if (this.#unnamed > 0) return;
    for (const end of this.#unclaimed.values()) if (!(end instanceof AskEnded)) this.onLate(end);
    this.#unclaimed.clear();
  }
}

function settle({ resolve, reject }: Waiter, end: End): void {
  if (end instanceof AskEnded) reject(end);
  else resolve(end);
}
