/** Tells two agents, once, that both write the same file. */

import { DAY_MS } from "kit/core/duration.ts";
import { cleanLine, firstLineOf } from "kit/core/text.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Context } from "../../data/context.ts";
import * as asks from "../asks/store.ts";
import type { Notifications } from "../notifications/notifications.ts";
import { isLive } from "../peers/directory.ts";
import * as peers from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { FilePlace } from "./places.ts";
import * as store from "./store.ts";

/** Time within which both agents wrote the file. */
const WINDOW_MS = 30 * 60_000;
/** Time after which a pair is told of the same file again. */
const AGAIN_MS = DAY_MS;
const TASK_CHARS_MAX = 120;

interface OverlapsDeps {
  readonly notifications: Notifications;
  readonly isOn: boolean;
}

export class Overlaps {
  readonly #ctx: Context;
  readonly #deps: OverlapsDeps;

  constructor(ctx: Context, deps: OverlapsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** A peer wrote a file at a time; others may have, too. */
  wrote(tx: Tx, peer: StoredPeer, place: FilePlace, at: number): void {
    const now = this.#ctx.clock.now();
    if (!this.#deps.isOn || now - at > WINDOW_MS) return;
    for (const use of store.usesOf(tx, place)) {
      if (!use.wrote || use.peer_id === peer.peer_id || now - use.last_at > WINDOW_MS) continue;
      const other = peers.get(tx, use.peer_id);
      if (!other || !isLive(other)) continue;
      const [first_peer_id = "", second_peer_id = ""] = [peer.peer_id, other.peer_id].toSorted();
      const { repository, path } = place;
      const pair = { repository, path, first_peer_id, second_peer_id };
      if (now - (store.toldAt(tx, pair) ?? -Infinity) < AGAIN_MS) continue;
      store.setTold(tx, { ...pair, told_at: now });
      const mine = { ...place, at }, theirs = { ...place, root: use.root, at: use.last_at };
      this.#tell(peer, { own: mine, other, of_other: theirs });
      this.#tell(other, { own: theirs, other: peer, of_other: mine });
      this.#ctx.events.append("file_overlap", { path, first_peer_id, second_peer_id });
    }
  }

  /** The branches of two peers change the same lines of files. */
  conflict(
    repository: string,
    [peer, other]: readonly [StoredPeer, StoredPeer],
    paths: readonly string[],
  ): void {
    const { db, clock, events } = this.#ctx;
    if (!this.#deps.isOn) return;
    db.transact((tx) => {
      const [first_peer_id = "", second_peer_id = ""] = [peer.peer_id, other.peer_id].toSorted();
      const told_at = clock.now();
      const fresh = paths.filter((path) => {
        const pair = { repository, path, first_peer_id, second_peer_id };
        const isFresh = told_at - (store.toldAt(tx, pair) ?? -Infinity) >= AGAIN_MS;
        if (isFresh) store.setTold(tx, { ...pair, told_at });
        return isFresh;
      });
      if (fresh.length === 0) return;
      for (const [to, about] of [[peer, other], [other, peer]] as const) {
        const files = shortList(fresh);
        this.#send(to, about, {
          what: `Your branch and that of @${about.name} change the same lines of ${files}.`,
          files,
        });
      }
      for (const path of fresh) {
        events.append("file_overlap", { path, first_peer_id, second_peer_id });
      }
    });
  }

  #tell(
    peer: StoredPeer,
    { own, other, of_other }: {
      readonly own: FilePlace;
      readonly other: StoredPeer;
      readonly of_other: FilePlace & { readonly at: number };
    },
  ): void {
    const minutes = Math.max(0, Math.round((this.#ctx.clock.now() - of_other.at) / 60_000));
    const where = own.root === of_other.root
      ? "in the same folder"
      : `in its own work tree ${of_other.root}`;
    const file = cleanLine(own.path);
    this.#send(peer, other, {
      what: `You and @${other.name} both write ${file}: @${other.name} did ${minutes} min ago, ` +
        `${where}.`,
      files: file,
    });
  }

  #send(
    peer: StoredPeer,
    other: StoredPeer,
    { what, files }: { readonly what: string; readonly files: string },
  ): void {
    const task = other.circle === peer.circle ? taskOf(this.#ctx, other.peer_id) : null;
    const circle = other.circle === peer.circle ? "" : ` --circle ${other.circle}`;
    this.#deps.notifications.tryNotifyFromDaemon(
      peer.peer_id,
      [
        what,
        ...task === null ? [] : [`It works on: ${task}`],
        `To agree with it: mesh ask ${other.name}${circle} "I also change ${files}: …"`,
      ].join("\n"),
    );
  }
}

/** Maximum files that a message names. */
const NAMED_MAX = 5;

function shortList(paths: readonly string[]): string {
  const named = paths.slice(0, NAMED_MAX).map(cleanLine).join(", ");
  return paths.length > NAMED_MAX ? `${named} and ${paths.length - NAMED_MAX} more` : named;
}

/** The first line of the oldest ask that a peer has to answer; null without one. */
export function taskOf({ db }: Pick<Context, "db">, peer_id: string): string | null {
  const [ask] = asks.openTo(db, peer_id);
  return ask ? firstLineOf(ask.text, TASK_CHARS_MAX) : null;
}
