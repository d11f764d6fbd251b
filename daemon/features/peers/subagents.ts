/** Subagents of a peer's session: peers without messages, known by its hooks, that end with it. */

import * as z from "zod";
import { Ages } from "kit/core/clock.ts";
import type { Context } from "../../data/context.ts";
import type { Tx } from "kit/data/sqlite.ts";
import { TableView } from "../../data/table_view.ts";
import type { SubagentReport } from "../agents/adapter.ts";
import type { RegistryDeps } from "./changes.ts";
import { isLive, isOnline } from "./directory.ts";
import { type Peers, subjectOf } from "./peers.ts";
import { Admission } from "./registration.ts";
import type { PeerTurns } from "./turns.ts";
import type { StoredChild, StoredPeer } from "./store.ts";
import {
  type Children,
  CHILDREN_SHOWN_MAX,
  ENDED_MAX,
  ENDED_MS_MAX,
  RUNNING_MAX,
  SILENT_MS_MAX,
} from "protocol/peers/subagents.ts";
import * as rows from "./store.ts";

/** The interval between clean-ups of old subagents. */
const CLEAN_UP_INTERVAL_MS = 60_000;
const NAME_CHARS_MAX = 64;
const TYPE_CHARS_MAX = 24;
/** The type of a subagent whose program names none. */
const UNKNOWN_TYPE = "subagent";

/**
 * A subagent's part of its record. Its id is not its session: a caller that names this session
 * would count as a peer with an unproved process.
 */
const Metadata = z.object({ subagent_id: z.string(), subagent_type: z.string() });

interface SubagentsDeps extends RegistryDeps {
  readonly peers: Peers;
  readonly turns: PeerTurns;
}

export class Subagents {
  readonly #ctx: Context;
  readonly #deps: SubagentsDeps;
  readonly #admission: Admission;
  readonly #ages: Ages;
  readonly #reported: TableView<StoredChild[]>;
  #cleaned_at = Number.NEGATIVE_INFINITY;

  constructor(ctx: Context, deps: SubagentsDeps) {
    this.#ctx = ctx;
    this.#ages = new Ages(ctx.clock);
    this.#deps = deps;
    this.#admission = new Admission(ctx, deps);
    this.#reported = new TableView(ctx.db, "peers", rows.reportedSubagents);
  }

  /** Applies a hook's report about a subagent of its session. */
  report(parent_peer_id: string, subagent: SubagentReport): void {
    this.#ctx.db.transact((tx) => {
      const parent = this.#deps.changes.mustGet(parent_peer_id);
      const children = rows.childrenOf(tx, parent);
      const known = children.find((child) => factsOf(child)?.subagent_id === subagent.agent_id);
      if (subagent.phase === "ended") {
        if (known) this.#end(known, "subagent_ended");
        this.#removeOldest(tx, parent);
      } else if (known) {
        this.#deps.turns.reportTurn(known.peer_id, { turn_state: "working" });
      } else if (isLive(parent)) this.#start(tx, { parent, children, subagent });
    });
  }

  /** The peer reported that none of its subagents runs. */
  noneRunning(parent_peer_id: string): void {
    this.#endAll(parent_peer_id, "subagent_ended", "not reported as running");
  }

  /** Ends the subagents of a peer that has ended. */
  peerChanged({ peer_id, status, offline_reason }: PeerChange): void {
    if (status !== "offline" && status !== "retired") return;
    this.#endAll(peer_id, "parent_offline", offline_reason ?? undefined);
  }

  /** The children of a peer, as its record shows them. */
  childrenOf(peer_id: string): Children {
    const parent = rows.get(this.#ctx.db, peer_id);
    const children = parent ? rows.childrenOf(this.#ctx.db, parent) : [];
    return {
      children: children.slice(0, CHILDREN_SHOWN_MAX).map((child) => ({
        peer_id: child.peer_id,
        name: child.name,
        type: factsOf(child)?.subagent_type ?? null,
        status: child.status,
        started_at: child.registered_at,
        ended_at: isOnline(child) ? null : child.status_at,
      })),
      children_count: children.length,
    };
  }

  /** Ends subagents without a sign of life, and removes those that ended a day ago. */
  tick(): void {
    const monotonic = this.#ctx.clock.monotonic();
    if (monotonic - this.#cleaned_at < CLEAN_UP_INTERVAL_MS) return;
    this.#cleaned_at = monotonic;
    for (const child of this.#reported.get()) {
      if (isOnline(child)) {
        if (this.#deps.directory.unseenMs(child) >= SILENT_MS_MAX) this.#end(child, "not_seen");
      } else if (
        this.#ages.of(child.peer_id, child.status_at ?? child.registered_at) >= ENDED_MS_MAX
      ) {
        this.#ctx.db.transact((tx) => this.#remove(tx, child));
      }
    }
  }

  #start(
    tx: Tx,
    { parent, children, subagent }: {
      readonly parent: StoredPeer;
      readonly children: readonly StoredChild[];
      readonly subagent: SubagentReport;
    },
  ): void {
    // A program's own helpers end without a start and have no type.
    if (subagent.phase !== "started" && subagent.type === "") return;
    if (parent.backend === null) return; // The human starts none.
    if (children.filter(isOnline).length >= RUNNING_MAX) return;
    const type = toType(subagent.type);
    const record = this.#admission.newPeer({
      name: nameOf(parent, type, children),
      path: parent.path ?? "/",
      ...(parent.machine !== null && { machine: parent.machine }),
      backend: parent.backend,
      circle: parent.circle,
      role: "agent",
      turn_state: "working",
      metadata: { subagent_id: subagent.agent_id, subagent_type: type },
      provenance: {
        source: "hook",
        initiator: "agent",
        parent_runtime_id: parent.peer_id,
        ephemeral: true,
        addressable: false,
        addressable_reason: `a subagent of ${parent.name}`,
      },
    }, {});
    rows.insert(tx, { ...record, status: "busy" });
    const { peer_id, name, circle, backend, role } = record;
    const registered = { peer_id, name, circle, backend, role, parent_peer_id: parent.peer_id };
    this.#ctx.events.append("peer_registered", registered);
  }

  #endAll(parent_peer_id: string, reason: string, detail?: string): void {
    this.#ctx.db.transact((tx) => {
      const parent = rows.get(tx, parent_peer_id);
      if (!parent) return;
      const running = rows.childrenOf(tx, parent).filter(isOnline).filter(isReported);
      for (const child of running) this.#end(child, reason, detail);
      if (running.length > 0) this.#removeOldest(tx, parent);
    });
  }

  #end(child: StoredChild, reason: string, detail?: string): void {
    if (!isOnline(child)) return;
    const cause = { reason, source: "hook", terminal: false };
    this.#deps.peers.offline(child.peer_id, { ...cause, ...(detail && { detail }) });
  }

  /** Removes ended subagents of a peer beyond those that are kept. */
  #removeOldest(tx: Tx, parent: StoredPeer): void {
    const ended = rows.childrenOf(tx, parent).filter(isReported)
      .filter((child) => !isOnline(child))
      .toSorted((a, b) => (b.status_at ?? 0) - (a.status_at ?? 0));
    for (const child of ended.slice(ENDED_MAX)) this.#remove(tx, child);
  }

  #remove(tx: Tx, child: StoredChild): void {
    rows.remove(tx, child.peer_id);
    const parent_peer_id = this.#deps.directory.parentOf(child);
    this.#ctx.events.append("peer_removed", subjectOf(child, parent_peer_id));
  }
}

/** The fields of a changed peer that decide about its subagents. */
type PeerChange = Pick<StoredPeer, "peer_id" | "status" | "offline_reason">;

/** True if its parent reported it. A subagent that registered by itself reports its own end. */
function isReported(child: StoredChild): boolean {
  return factsOf(child) !== undefined;
}

function factsOf({ metadata }: StoredChild): z.output<typeof Metadata> | undefined {
  return Metadata.safeParse(metadata).data;
}

/** A type as a part of a name. */
function toType(type: string): string {
  const words = type.toLowerCase().replaceAll(/[^a-z0-9_]+/g, "-");
  return words.slice(0, TYPE_CHARS_MAX).replaceAll(/^-|-$/g, "") || UNKNOWN_TYPE;
}

/** `api.explore-1`; the number is one more than that of any other child of the type. */
function nameOf(parent: StoredPeer, type: string, children: readonly StoredChild[]): string {
  const numbers = children.filter((child) => factsOf(child)?.subagent_type === type)
    .map(({ name }) => Number(/\.[^.]*-(\d{1,6})$/.exec(name)?.[1] ?? 0));
  const suffix = `.${type}-${Math.max(0, ...numbers) + 1}`;
  return parent.name.slice(0, NAME_CHARS_MAX - suffix.length) + suffix;
}

/**
 * True if another peer started it, it takes no messages, and it is short-lived. A program may also
 * register such a peer by itself, with its provenance.
 */
export function isSubagent(
  { ephemeral, addressable, parent_runtime_id }: Pick<
    StoredPeer,
    "ephemeral" | "addressable" | "parent_runtime_id"
  >,
): boolean {
  return ephemeral && !addressable && parent_runtime_id !== null;
}
