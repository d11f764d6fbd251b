/** Surfaces: the connections that show inbox items to the human, and their receipts. */

import * as z from "zod";
import type { MeshEvent } from "protocol/events.ts";
import type { Context } from "../../data/context.ts";
import type { Reader } from "kit/data/sqlite.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import type { Delivery } from "../messages/delivery.ts";
import type { ItemReceipt, Receipts } from "../messages/receipts.ts";
import type { Sockets } from "../messages/websocket/sockets.ts";
import type { Address } from "protocol/peers/record.ts";
import * as peerRows from "../peers/store.ts";
import { InboxItem } from "protocol/inbox.ts";
import * as pushes from "./pushes.ts";
import type { StoredPush } from "./pushes.ts";
import * as rows from "./store.ts";

/** The maximum age of the items that are sent to a surface when it connects (contract 4). */
const CATCH_UP_MS = 24 * 3_600_000;
/** Time for which a disconnected surface is offered new items, for its next connection. */
const RECENT_SURFACE_MS = 7 * 24 * 3_600_000;

/** Maximum time before a surface was last seen in which its connection may have been dead. */
const UNNOTICED_MS_MAX = 120_000;

const DASHBOARD = "dashboard";

/** A connection that shows items: a surface, or a bridge, which sends no receipts. */
interface ConnectedSurface {
  readonly name: string;
  readonly peer_id: string;
  readonly bridge: boolean;
}

/** The fields of an item that its delivery carries. */
type InboxItemSummary = Pick<
  InboxItem,
  "item_id" | "from" | "from_peer_id" | "correlation_id" | "text"
>;

interface SurfacesDeps {
  readonly sockets: Pick<Sockets, "surfaces" | "write" | "getSession">;
  readonly delivery: Pick<Delivery, "send">;
  readonly receipts: Pick<Receipts, "offerAgain">;
}

export class Surfaces {
  readonly #ctx: Context;
  readonly #deps: SurfacesDeps;
  #dashboards = 0;

  constructor(ctx: Context, deps: SurfacesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** The peer of the surface or bridge with this name; undefined if it is retired. */
  peerOf(name: string): string | undefined {
    const found = pushes.getSurface(this.#ctx.db, name);
    const address = found && peerRows.address(this.#ctx.db, found.peer_id);
    return address && address.status !== "retired" ? found.peer_id : undefined;
  }

  /** Offers an item to connected and recent surfaces; returns the connected ones, with bridges. */
  offer(item: InboxItemSummary, message: StoredMessage): string[] {
    const connectedSurfaces = this.#connected();
    if (this.#dashboards > 0) this.#recordPending(DASHBOARD, item.item_id, null);
    for (const [surface, peer_id] of this.#receivers(connectedSurfaces)) {
      const to = peerRows.address(this.#ctx.db, peer_id);
      if (to && isReceiver(to)) this.#send(surface, to, item);
    }
    for (const connectedSurface of connectedSurfaces) {
      if (connectedSurface.bridge) {
        this.#ctx.db.afterCommit(() => this.#write(connectedSurface, item, message));
      }
    }
    const names = connectedSurfaces.map(({ name }) => name);
    return [...new Set([...this.#dashboards > 0 ? [DASHBOARD] : [], ...names])];
  }

  /** A surface has connected: sends it the items that it has not shown yet (contract 4). */
  onConnected({ name, peer_id, bridge }: ConnectedSurface): void {
    const { db, clock } = this.#ctx;
    db.transact((tx) => {
      const to = peerRows.address(this.#ctx.db, peer_id);
      if (!to || to.role !== "service") return; // The human's own connection is not a surface.
      const at = clock.now();
      const { seen_at = at } = pushes.getSurface(db, name) ?? {};
      pushes.upsertSurface(tx, { surface: name, peer_id, bridge, seen_at: at });
      if (bridge || !isReceiver(to)) return;
      const since = at - CATCH_UP_MS;
      const shown = { surface: name, since, closed_after: seen_at - UNNOTICED_MS_MAX };
      for (const item_id of pushes.closedAsksShown(db, shown)) {
        db.afterCommit(() => this.#sendUpdate(peer_id, item_id));
      }
      for (const { item_id, delivery_id } of pushes.unpushedSince(db, name, since)) {
        if (delivery_id && this.#deps.receipts.offerAgain(delivery_id, peer_id)) continue;
        const item = rows.get(db, item_id);
        if (item) this.#send(name, to, item);
      }
    });
  }

  /**
   * Sends the end of an item's ask to the connected surfaces, so that they remove its buttons.
   * Other surfaces get it when they connect.
   */
  showEnd({ item_id }: Pick<InboxItem, "item_id">): void {
    this.#ctx.db.afterCommit(() => {
      for (const { bridge, peer_id } of this.#connected()) {
        if (!bridge) this.#sendUpdate(peer_id, item_id);
      }
    });
  }

  #sendUpdate(peer_id: string, item_id: string): void {
    const item = rows.get(this.#ctx.db, item_id);
    if (!item) return;
    const frame = { type: "inbox_update" as const, item: z.encode(InboxItem, item) };
    this.#deps.sockets.getSession(peer_id)?.send(frame);
  }

  /** Called when a surface has disconnected. Stores the time. */
  onDisconnected(name: string): void {
    const { db, clock } = this.#ctx;
    db.transact((tx) => pushes.markSeen(tx, name, clock.now()));
  }

  /** Records a surface's receipt, with all its refs. A later failure does not undo a push. */
  receipt(surface: string, item_id: string, receipt: ItemReceipt): void {
    const { db, clock, events } = this.#ctx;
    db.transact((tx) => {
      if (!rows.get(db, item_id)) return;
      const at = clock.now();
      pushes.markSeen(tx, surface, at);
      const before = this.#pushOf(surface, item_id);
      const refs = refsOf(receipt);
      for (const ref of refs) pushes.saveRef(tx, surface, ref, item_id);
      const surface_refs = [...new Set([...before.surface_refs, ...refs])];
      if (before.status === "pushed" && before.verified) {
        return pushes.upsert(tx, { ...before, surface_refs });
      }
      const pushed = receipt.status === "pushed";
      const surface_ref = refs[0] ?? (pushed ? null : before.surface_ref);
      const error_class = pushed ? null : receipt.error_class ?? null;
      const { status } = receipt;
      const update = { status, surface_ref, surface_refs, verified: pushed, error_class, at };
      pushes.upsert(tx, { ...before, ...update });
      if (pushed) events.append("surface_pushed", { surface, item_id, surface_ref });
    });
  }

  /**
   * Counts a dashboard stream as open until it is disposed. `markPushed` is called for each event
   * that the stream has flushed; the item of such an event counts as pushed.
   */
  dashboard(): Disposable & { markPushed(event: MeshEvent): void } {
    this.#dashboards++;
    return {
      markPushed: ({ type, id, data }) => {
        if (type !== "inbox_item") return;
        this.receipt(DASHBOARD, data.item_id, { status: "pushed", surface_ref: String(id) });
      },
      [Symbol.dispose]: () => void this.#dashboards--,
    };
  }

  /** The surfaces and bridges that are connected now over `/ws`. */
  #connected(): ConnectedSurface[] {
    return this.#deps.sockets.surfaces().flatMap(({ peer_id, identity: { surface } }) =>
      surface ? { ...surface, peer_id } : []
    );
  }

  /** The peers of connected and recently connected surfaces, by the surface's name. */
  #receivers(connectedSurfaces: readonly ConnectedSurface[]): Map<string, string> {
    const { db, clock } = this.#ctx;
    const known = pushes.recentSurfaces(db, clock.now() - RECENT_SURFACE_MS);
    const here = connectedSurfaces.filter(({ bridge }) => !bridge);
    return new Map([
      ...known.map(({ surface, peer_id }) => [surface, peer_id] as const),
      ...here.map(({ name, peer_id }) => [name, peer_id] as const),
    ]);
  }

  #send(surface: string, to: Address, item: InboxItemSummary): void {
    const { item_id, correlation_id, text, from_peer_id, from } = item;
    const { message } = this.#deps.delivery.send({
      kind: "inbox_item",
      from: { peer_id: from_peer_id, name: from },
      to,
      voice: "peer",
      circle: to.circle,
      item_id,
      correlation_id,
      text,
      ttl_ms: CATCH_UP_MS,
    });
    const { delivery_id } = message;
    this.#recordPending(surface, item.item_id, delivery_id);
  }

  /** Records a pending push, until the surface sends its receipt. */
  #recordPending(surface: string, item_id: string, delivery_id: string | null): void {
    const before = this.#pushOf(surface, item_id);
    this.#ctx.db.transact((tx) => pushes.upsert(tx, { ...before, delivery_id }));
  }

  /** The stored push of an item to a surface, or a new pending one. */
  #pushOf(surface: string, item_id: string): StoredPush {
    const { db, clock } = this.#ctx;
    return pushes.get(db, item_id, surface) ?? {
      item_id,
      surface,
      status: "pending",
      surface_ref: null,
      surface_refs: [],
      verified: false,
      error_class: null,
      at: clock.now(),
      delivery_id: null,
    };
  }

  /** Writes an item to a bridge, which sends no receipts: only the write is known (spec 4). */
  #write(
    { name, peer_id }: ConnectedSurface,
    item: InboxItemSummary,
    message: StoredMessage,
  ): void {
    const { db, clock, events } = this.#ctx;
    const { item_id, text } = item;
    const kind = message.kind === "ask" ? "ask" as const : "notify" as const;
    // The human's own connection gets the message in the same form as any peer.
    const own = message.to_peer_id === peer_id;
    const written = this.#deps.sockets.write(peer_id, own ? message : { ...message, kind, text });
    db.transact((tx) => {
      const at = clock.now();
      const before = this.#pushOf(name, item_id);
      if (before.verified) return;
      const status = written ? "pushed" as const : "failed" as const;
      pushes.upsert(tx, { ...before, status, at, error_class: written ? null : "socket_closed" });
      if (written) events.append("surface_pushed", { surface: name, item_id, surface_ref: null });
    });
  }
}

/** An item's frame for a surface, with its ref of the previous item in the same thread. */
export function inboxItemFrame(db: Reader, item_id: string, surface: string) {
  const item = rows.get(db, item_id);
  if (!item) throw new Error(`Cannot send inbox item "${item_id}": it was deleted`);
  return {
    item: z.encode(InboxItem, item),
    reply_to_ref: pushes.previousRefInThread(db, surface, item_id),
  };
}

function isReceiver({ dropped_at, status, addressable }: Address): boolean {
  return dropped_at === null && status !== "retired" && Boolean(addressable);
}

/** All refs of a receipt, `surface_ref` first. */
function refsOf({ surface_ref, surface_refs }: ItemReceipt): string[] {
  const refs = [...surface_ref ? [surface_ref] : [], ...surface_refs ?? []];
  return [...new Set(refs.filter((ref) => ref !== ""))];
}
