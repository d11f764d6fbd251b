/** Idempotency keys: the stored answer of each request, by sender, route and key (contract 1). */

import * as z from "zod";
import type { Context } from "../data/context.ts";
import { Problem } from "protocol/problems.ts";
import type { IdempotencyStore, IdempotentRequest } from "kit/http/route.ts";
import { canonicalJson } from "kit/core/text.ts";
import { sha256 } from "kit/host/node_library.ts";

/** Time for which a key is kept. */
const RETENTION_MS = 24 * 3_600_000;
/** Maximum number of expired keys that one tick removes. */
const FORGET_ROWS_MAX = 500;

const CreatedAt = z.number();
const StoredAnswer = z.object({ body_hash: z.string(), answer: z.string() });

export class Idempotency implements IdempotencyStore {
  readonly #ctx: Context;
  /** Keys of requests that are still running. */
  readonly #running = new Set<string>();

  constructor(ctx: Context) {
    this.#ctx = ctx;
  }

  find(idempotent: IdempotentRequest): string | undefined {
    const { db, clock } = this.#ctx;
    const { sender, route, key: idempotency_key } = idempotent;
    const found = db.get(
      StoredAnswer,
      `select body_hash, answer from idempotency
       where sender = :sender and route = :route and key = :key and created_at > :after`,
      { sender, route, key: idempotency_key, after: clock.now() - RETENTION_MS },
    );
    if (found && found.body_hash !== hashOf(idempotent)) {
      throw new Problem("idempotency_mismatch", { idempotency_key });
    }
    if (!found && this.#running.has(keyOf(idempotent))) {
      throw new Problem("idempotency_in_progress", { idempotency_key });
    }
    return found?.answer;
  }

  begin(idempotent: IdempotentRequest): Disposable {
    const name = keyOf(idempotent);
    this.#running.add(name);
    return { [Symbol.dispose]: () => void this.#running.delete(name) };
  }

  runAndStore<T>(idempotent: IdempotentRequest, work: () => T, toJson: (done: T) => string): T {
    const { db, clock } = this.#ctx;
    return db.transact((tx) => {
      const done = work();
      const { sender, route, key } = idempotent;
      // Replaces an expired answer that has not been removed yet.
      tx.run(
        `insert or replace into idempotency (sender, route, key, body_hash, answer, created_at)
         values (:sender, :route, :key, :body_hash, :answer, :created_at)`,
        {
          sender,
          route,
          key,
          body_hash: hashOf(idempotent),
          answer: toJson(done),
          created_at: clock.now(),
        },
      );
      return { done };
    }).done;
  }

  tick(now: number): void {
    const { db } = this.#ctx;
    const before = now - RETENTION_MS;
    const oldest = db.value(
      CreatedAt,
      "select created_at from idempotency where created_at <= :before order by created_at limit 1",
      { before },
    );
    if (oldest === undefined) return;
    db.transact((tx) =>
      tx.run(
        `delete from idempotency where seq in (select seq from idempotency
         where created_at <= :before order by created_at limit :limit)`,
        { before, limit: FORGET_ROWS_MAX },
      )
    );
  }
}

/** Identifies a request. Routes and keys contain no newline, so no two requests share a result. */
function keyOf({ sender, route, key }: IdempotentRequest): string {
  return `${route}\n${key}\n${sender}`;
}

function hashOf({ body }: IdempotentRequest): string {
  return sha256(canonicalJson(body), "hex");
}
