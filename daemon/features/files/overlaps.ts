/** Messages to two agents, once a day for each file, that both write it. */

import { DAY_MS } from "kit/core/duration.ts";
import { firstLineOf } from "kit/core/text.ts";
import { quotedLine } from "protocol/messages/frame_markers.ts";
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
/** Time after which a pair gets a message about the same file again. */
const AGAIN_MS = DAY_MS;
const TASK_CHARS_MAX = 120;

/** A file that a peer wrote, and when. */
export interface WrittenFile {
  readonly place: FilePlace;
  readonly at: number;
}

/** The same file as one peer and the other wrote it. */
interface SharedFile {
  readonly own: WrittenFile;
  readonly theirs: WrittenFile;
}

interface OverlapsDeps {
  readonly notifications: Notifications;
  readonly isOn: boolean;
  /** Called for each file of which two agents are informed. */
  found(kind: "written" | "branches"): void;
}

export class Overlaps {
  readonly #ctx: Context;
  readonly #deps: OverlapsDeps;

  constructor(ctx: Context, deps: OverlapsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** A peer wrote files; others may have, too. Each other peer is one message, of all files. */
  wrote(tx: Tx, peer: StoredPeer, files: readonly WrittenFile[]): void {
    if (!this.#deps.isOn) return;
    const byOther = new Map<string, SharedFile[]>();
    for (const file of files) {
      for (const { other_id, ...shared } of this.#sharedWith(tx, peer, file)) {
        byOther.set(other_id, [...byOther.get(other_id) ?? [], shared]);
      }
    }
    for (const [other_id, shared] of byOther) {
      const other = peers.get(tx, other_id);
      if (!other) continue;
      this.#tell(peer, other, shared);
      this.#tell(other, peer, shared.map(({ own, theirs }) => ({ own: theirs, theirs: own })));
    }
  }

  /** The peers that wrote the file within the window and were not told of it today. */
  #sharedWith(tx: Tx, peer: StoredPeer, own: WrittenFile) {
    const now = this.#ctx.clock.now();
    if (now - own.at > WINDOW_MS) return [];
    return store.usesOf(tx, own.place).flatMap(({ peer_id, wrote, root, last_at }) => {
      if (!wrote || peer_id === peer.peer_id || now - last_at > WINDOW_MS) return [];
      const other = peers.get(tx, peer_id);
      if (!other || !isLive(other)) return [];
      const { repository, path } = own.place;
      if (!this.#isFirst(tx, [peer, other], { repository, path })) return [];
      this.#deps.found("written");
      return [{ other_id: peer_id, own, theirs: { place: { ...own.place, root }, at: last_at } }];
    });
  }

  /** True if the pair was not told of the file today; then it counts as told. */
  #isFirst(tx: Tx, pair: readonly [StoredPeer, StoredPeer], file: store.FileKey): boolean {
    const [first_peer_id = "", second_peer_id = ""] = pair.map(({ peer_id }) => peer_id).toSorted();
    const now = this.#ctx.clock.now();
    const key = { ...file, first_peer_id, second_peer_id };
    const told_at = store.toldAt(tx, key);
    if (told_at !== undefined && Math.abs(now - told_at) < AGAIN_MS) return false;
    store.setTold(tx, { ...key, told_at: now });
    this.#ctx.events.append("file_overlap", { path: file.path, first_peer_id, second_peer_id });
    return true;
  }

  /** The branches of two peers change the same lines of files. */
  conflict(
    repository: string,
    [peer, other]: readonly [StoredPeer, StoredPeer],
    paths: readonly string[],
  ): void {
    if (!this.#deps.isOn) return;
    this.#ctx.db.transact((tx) => {
      const fresh = paths.filter((path) => this.#isFirst(tx, [peer, other], { repository, path }));
      for (const _ of fresh) this.#deps.found("branches");
      if (fresh.length === 0) return;
      for (const [to, about] of [[peer, other], [other, peer]] as const) {
        const what = `Your branch and that of @${about.name} change the same lines of ` +
          `${shortList(fresh)}.`;
        this.#send(to, about, { what, files: fresh });
      }
    });
  }

  #tell(peer: StoredPeer, other: StoredPeer, shared: readonly SharedFile[]): void {
    const [last] = shared.toSorted((left, right) => right.theirs.at - left.theirs.at);
    if (!last) return;
    const { own, theirs } = last;
    const minutes = Math.max(0, Math.round((this.#ctx.clock.now() - theirs.at) / 60_000));
    const where = own.place.root === theirs.place.root
      ? "in the same folder"
      : `in its own work tree ${quotedLine(theirs.place.root)}`;
    const files = shared.map(({ own }) => own.place.path);
    this.#send(peer, other, {
      what: `You and @${other.name} both write ${shortList(files)}: @${other.name} did ` +
        `${minutes === 0 ? "just now" : `${minutes} min ago`}, ${where}.`,
      files,
    });
  }

  #send(
    peer: StoredPeer,
    other: StoredPeer,
    { what, files }: { readonly what: string; readonly files: readonly string[] },
  ): void {
    const task = other.circle === peer.circle ? taskOf(this.#ctx, other.peer_id) : null;
    const circle = other.circle === peer.circle ? "" : ` --circle ${other.circle}`;
    this.#deps.notifications.tryNotifyFromDaemon(
      peer.peer_id,
      [
        what,
        ...task === null ? [] : [`It works on: "${quotedLine(task)}"`],
        `To agree with it: mesh ask ${other.name}${circle} "I also change ${inCommand(files)}: …"`,
      ].join("\n"),
    );
  }
}

/** Maximum files that a message names. */
const NAMED_MAX = 5;

function shortList(paths: readonly string[]): string {
  const named = paths.slice(0, NAMED_MAX).map(quotedLine).join(", ");
  return paths.length > NAMED_MAX ? `${named} and ${paths.length - NAMED_MAX} more` : named;
}

/** Files in a command that the agent may run: a name with a character of the shell is left out. */
function inCommand(paths: readonly string[]): string {
  const isPlain = paths.every((path) => /^[\w./@+, -]+$/.test(path));
  return isPlain ? shortList(paths) : "the same files";
}

/** The first line of the oldest ask that a peer has to answer; null without one. */
export function taskOf({ db }: Pick<Context, "db">, peer_id: string): string | null {
  const [ask] = asks.openTo(db, peer_id);
  return ask ? firstLineOf(ask.text, TASK_CHARS_MAX) : null;
}
