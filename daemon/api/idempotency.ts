/** Requests that are done once: what each was answered, by sender, route and key (contract 1). */

import { createHash } from "node:crypto";
import * as z from "zod";
import type { Ground } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { Memory, Once } from "kit/http/route.ts";
import type { Database, Tx } from "kit/data/sqlite.ts";
import { canonicalJson } from "kit/core/text.ts";

/** How long a key stands for its first request. */
const KEPT_MS = 24 * 3_600_000;
/** Keys that retention drops in one beat. */
const FORGET_ROWS_MAX = 500;

export class Idempotency implements Memory {
  readonly #ground: Ground;
  /** Requests that run now; none of them is kept yet. */
  readonly #running = new Set<string>();

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  recall(once: Once): string | undefined {
    const { db, clock } = this.#ground;
    const { key: idempotency_key } = once;
    const found = get(db, once, clock.now() - KEPT_MS);
    if (found && found.body_hash !== hashOf(once)) {
      throw new Problem("idempotency_mismatch", { idempotency_key });
    }
    if (!found && this.#running.has(nameOf(once))) {
      throw new Problem("idempotency_in_progress", { idempotency_key });
    }
    return found?.answer;
  }

  begin(once: Once): Disposable {
    const name = nameOf(once);
    this.#running.add(name);
    return { [Symbol.dispose]: () => void this.#running.delete(name) };
  }

  keep<T>(once: Once, work: () => T, toJson: (done: T) => string): T {
    const { db, clock } = this.#ground;
    return db.transact((tx) => {
      const done = work();
      const kept = { body_hash: hashOf(once), answer: toJson(done), created_at: clock.now() };
      put(tx, once, kept);
      return { done };
    }).done;
  }

  beat(now: number): void {
    const { db } = this.#ground;
    const before = now - KEPT_MS;
    if (oldest(db, before)) db.transact((tx) => forget(tx, before, FORGET_ROWS_MAX));
  }
}

/** Routes and keys hold no newline, so that no two requests share a name. */
function nameOf({ sender, route, key }: Once): string {
  return `${route}\n${key}\n${sender}`;
}

function hashOf({ body }: Once): string {
  return createHash("sha256").update(canonicalJson(body)).digest("hex");
}

const Kept = z.object({ body_hash: z.string(), answer: z.string() });

function get(db: Database, { sender, route, key }: Once, after: number) {
  return db.get(
    Kept,
    `select body_hash, answer from idempotency
     where sender = :sender and route = :route and key = :key and created_at > :after`,
    { sender, route, key, after },
  );
}

/** One that is past its time and not yet forgotten gives way. */
function put(
  tx: Tx,
  { sender, route, key }: Once,
  kept: z.infer<typeof Kept> & { created_at: number },
): void {
  tx.run(
    `insert or replace into idempotency (sender, route, key, body_hash, answer, created_at)
     values (:sender, :route, :key, :body_hash, :answer, :created_at)`,
    { sender, route, key, ...kept },
  );
}

const At = z.object({ created_at: z.number() });

function oldest(db: Database, before: number) {
  return db.get(
    At,
    "select created_at from idempotency where created_at <= :before order by created_at limit 1",
    { before },
  );
}

function forget(tx: Tx, before: number, limit: number): void {
  tx.run(
    `delete from idempotency where seq in
       (select seq from idempotency where created_at <= :before order by created_at limit :limit)`,
    { before, limit },
  );
}
