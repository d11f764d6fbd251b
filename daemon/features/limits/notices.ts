/** Messages of the daemon on limits: to askers, to the person, and to agents that go on. */

import type { Context } from "../../data/context.ts";
import { limitWords, timeOfDay } from "protocol/derived/limits.ts";
import * as askRows from "../asks/store.ts";
import { firstQueued } from "../messages/ledger/ledger.ts";
import type { Inbox } from "../inbox/inbox.ts";
import { DAEMON, type Notifications } from "../notifications/notifications.ts";
import type { Directory } from "../peers/directory.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { KnownWait } from "../peers/waits.ts";
import type { LimitPorts } from "./deps.ts";
import { SHORT_MS } from "./evidence.ts";
import type { StoredLimit } from "./store.ts";

/** Maximum asks of a peer whose askers are notified, or that a peer is reminded of. */
const ASKS_MAX = 20;
/** Maximum peers that one offer names. */
const PEERS_MAX = 5;

interface NoticesDeps {
  readonly directory: Pick<Directory, "address" | "human">;
  readonly inbox: Pick<Inbox, "endNotices">;
  readonly notifications: Pick<Notifications, "tryNotifyFromDaemon">;
  readonly ports: LimitPorts;
}

type WaitOf = (peer_id: string) => KnownWait | undefined;

export class LimitNotices {
  readonly #ctx: Context;
  readonly #deps: NoticesDeps;

  constructor(ctx: Context, deps: NoticesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /**
   * Notifies the askers of open asks to these peers until when their asks wait. `seen_by`: only of
   * asks that this peer has seen, because a short limit holds up the others like any delay.
   */
  notifyAskers(
    peers: readonly StoredPeer[],
    waitOf: WaitOf,
    { seen_by }: { readonly seen_by?: string } = {},
  ): void {
    const { directory, notifications } = this.#deps;
    for (const peer of peers) {
      for (const ask of askRows.openTo(this.#ctx.db, peer.peer_id).slice(0, ASKS_MAX)) {
        const { from_peer_id, correlation_id } = ask;
        const asker = from_peer_id === null ? undefined : directory.address(from_peer_id);
        const isLeftOut = seen_by !== undefined && (seen_by !== peer.peer_id || !ask.seen_at);
        if (!asker || asker.role === "human" || isLeftOut) continue;
        const text = `${this.#words(peer, waitOf)}; ${correlation_id} waits.`;
        notifications.tryNotifyFromDaemon(asker.peer_id, text);
      }
    }
  }

  /**
   * Offers the person to hand over the work that waits, for a limit that lasts. Returns false while
   * nothing waits.
   */
  offer(limit: StoredLimit, peers: () => readonly StoredPeer[], waitOf: WaitOf): boolean {
    const { state, due_at, account_id } = limit;
    const lasts_ms = due_at === null ? Infinity : due_at - this.#ctx.clock.now();
    if (state === "throttled" || lasts_ms <= SHORT_MS) return false;
    const waiting = peers().filter(({ peer_id }) => this.#hasWork(peer_id));
    if (waiting.length === 0) return false;
    // `mesh limits` counts what waits: a number in a stored text would soon be wrong.
    const lines = waiting.slice(0, PEERS_MAX).map((peer) =>
      `${this.#words(peer, waitOf)}; what is sent to it waits. Another agent can take its work ` +
      `over: mesh peer switch ${peer.name} --backend BACKEND`
    );
    const end = due_at === null
      ? `Once there is credit again: mesh limits resume ${account_id}`
      : `Otherwise nothing is to be done; mesh limits shows ${account_id}`;
    return this.#notifyPerson([...lines, end].join("\n"));
  }

  /** Asks the person if an account may go on whose limit is over. */
  askToResume({ account_id, account, backend }: StoredLimit): boolean {
    return this.#notifyPerson(
      `The limit of ${backend} (${account}) is over, and nothing goes on before you say so: ` +
        `mesh limits resume ${account_id}`,
    );
  }

  /** The items in the inbox about a limit are over with it. Each names the account. */
  limitOver({ account_id }: Pick<StoredLimit, "account_id">): void {
    this.#deps.inbox.endNotices(DAEMON.name, account_id);
  }

  /** Notifies the person of an agent that sent requests without end, and of the end of its turn. */
  notifyOfStorm(name: string, outcome: string): void {
    const result = outcome === "interrupted" || outcome === "ended"
      ? "and mesh interrupted its turn"
      : `and mesh could not interrupt it: mesh interrupt ${name}`;
    this.#notifyPerson(
      `${name} is at a limit and sent requests to its provider without end, ${result}.`,
    );
  }

  /**
   * Has an agent go on with the asks and jobs that a limit cut off at this time. Returns the id of
   * the message, if there is anything to go on with.
   */
  goOn(peer_id: string, at: number): string | undefined {
    const { notifications, ports } = this.#deps;
    const asks = askRows.seenBefore(this.#ctx.db, { to_peer_id: peer_id, at, limit: ASKS_MAX });
    const work = [
      ...asks.map(({ correlation_id }) => correlation_id),
      ...ports.heldJobs(peer_id).map(({ job_id, attempt_id }) => `${job_id} (${attempt_id})`),
    ];
    if (work.length === 0) return undefined;
    const text = "The limit of your account is over. Go on with what it cut off, and do not " +
      `repeat what is done: ${work.join(", ")}`;
    return notifications.tryNotifyFromDaemon(peer_id, text);
  }

  #words({ peer_id, name }: StoredPeer, waitOf: WaitOf): string {
    const { detail = null, resets_at } = waitOf(peer_id) ?? {};
    const until = resets_at && timeOfDay(resets_at, this.#ctx.clock.now()) || undefined;
    return `${name} ${limitWords(detail, until)}`;
  }

  #hasWork(peer_id: string): boolean {
    const { db } = this.#ctx;
    return askRows.pendingOf(db, peer_id).count > 0 || firstQueued(db, peer_id) !== undefined ||
      this.#deps.ports.heldJobs(peer_id).length > 0;
  }

  /** True also without a person, to whom nothing can be said. */
  #notifyPerson(text: string): boolean {
    const human = this.#deps.directory.human();
    if (human) this.#deps.notifications.tryNotifyFromDaemon(human.peer_id, text);
    return true;
  }
}
