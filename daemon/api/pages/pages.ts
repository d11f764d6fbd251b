/** Tickets, and the page cookies for which browsers exchange them. */

import { TimeLimit } from "kit/core/clock.ts";
import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import { sha256 } from "kit/host/node_library.ts";
import type { Page } from "../guard.ts";
import { PAGE_COOKIE } from "protocol/api/pages.ts";
import * as rows from "./store.ts";

export const TICKET_MS = 60_000;
export const PAGE_MS = 30 * 86_400_000;
/** Limits of open tickets and of remembered browsers. */
const TICKETS_MAX = 100;
export const PAGES_MAX = 1000;
const SECRET_BYTES = 32;
const ATTRIBUTES = "Path=/; HttpOnly; SameSite=Strict";

export class Pages {
  readonly #ctx: Context;
  /** Keyed by the digest of the ticket. Lost on restart. */
  readonly #tickets = new Map<string, TimeLimit>();

  constructor(ctx: Context) {
    this.#ctx = ctx;
  }

  /** Creates a ticket, valid once for a minute. */
  ticket(): { ticket: string; expires_at: number } {
    const { clock, ids } = this.#ctx;
    for (const [digest, { isOver }] of this.#tickets) {
      const overLimit = this.#tickets.size >= TICKETS_MAX;
      if (isOver || overLimit) this.#tickets.delete(digest);
    }
    const ticket = ids.secret(SECRET_BYTES);
    const limit = new TimeLimit(clock, TICKET_MS);
    this.#tickets.set(digestOf(ticket), limit);
    return { ticket, expires_at: limit.ends_at };
  }

  /** Redeems a ticket; returns the `Set-Cookie` of a page that speaks as the human. */
  redeem(ticket: string, request: Request): string {
    const digest = digestOf(ticket);
    const limit = this.#tickets.get(digest);
    this.#tickets.delete(digest);
    if (!limit || limit.isOver) throw new Problem("ticket_refused", {});
    return this.#open(request, true);
  }

  /** The `Set-Cookie` for a request without a page cookie. The page does not speak as the human. */
  issueCookie(request: Request): string | undefined {
    return this.of(request) ? undefined : this.#open(request, false);
  }

  /** The page of a request's cookie. */
  of(request: Request): Page | undefined {
    const cookie = cookieOf(request);
    if (cookie === undefined) return undefined;
    const { db, clock } = this.#ctx;
    const human = rows.find(db, digestOf(cookie), clock.now());
    return human === undefined ? undefined : { human: human === 1 };
  }

  /** Forgets the page of a request; returns the `Set-Cookie` that removes its cookie. */
  end(request: Request): string {
    const cookie = cookieOf(request);
    if (cookie !== undefined) {
      this.#ctx.db.transact((tx) => rows.remove(tx, digestOf(cookie)));
    }
    return `${PAGE_COOKIE}=; ${ATTRIBUTES}; Max-Age=0`;
  }

  /** Remembers a page and returns its `Set-Cookie`. Replaces the browser's previous cookie. */
  #open(request: Request, human: boolean): string {
    const { db, clock, ids } = this.#ctx;
    const created_at = clock.now();
    const cookie = ids.secret(SECRET_BYTES);
    const before = cookieOf(request);
    db.transact((tx) => {
      if (before !== undefined) rows.remove(tx, digestOf(before));
      rows.trim(tx, created_at, PAGES_MAX - 1);
      const digest = digestOf(cookie);
      rows.insert(tx, {
        digest,
        human: human ? 1 : 0,
        created_at,
        expires_at: created_at + PAGE_MS,
      });
    });
    return `${PAGE_COOKIE}=${cookie}; ${ATTRIBUTES}; Max-Age=${PAGE_MS / 1000}`;
  }
}

function cookieOf(request: Request): string | undefined {
  const pairs = (request.headers.get("cookie") ?? "").split(";").map((pair) => pair.trim());
  const found = pairs.find((pair) => pair.startsWith(`${PAGE_COOKIE}=`));
  return found?.slice(PAGE_COOKIE.length + 1) || undefined;
}

function digestOf(secret: string): string {
  return sha256(secret, "base64url");
}
