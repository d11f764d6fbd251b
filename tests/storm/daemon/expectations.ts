/** Expectations of a storm, from the daemon's answers and events so far. */

import type { Receipts } from "./receipts.ts";
import type { DatabaseImage } from "../database_files.ts";
import type { Chance } from "../../support/seeded_random.ts";
import { Actor, type ReceivedLog } from "./actor.ts";
import type { Answer } from "./daemon_runs.ts";
import { HUMAN, SECRET_WORD } from "./texts.ts";

/** A wait in progress, and its ask. */
export interface PendingWait {
  readonly correlation_id: string;
  answer: Answer | undefined;
  error: unknown;
  /** The caller has hung up, or the daemon has stopped. */
  abort: boolean;
}

/** A request with an idempotency key, whose answer may have been lost. */
export interface KeyedRequest {
  readonly key: string;
  readonly path: string;
  readonly body: { readonly text: string; readonly [field: string]: unknown };
  /** The id of the message, once an answer has come. */
  id: string | undefined;
}

/** A copy of the database, and what was expected of the daemon at that moment. */
export interface DatabaseCopy {
  readonly image: DatabaseImage;
  readonly ids: ReadonlySet<string>;
  readonly event_ids: readonly number[];
  readonly ended: ReadonlyMap<string, string>;
  readonly receipts: Receipts;
}

const NAMES = ["ada", "bob", "eve", "tom", "kim"];
/** Agents without a socket; messages reach them by transports. */
const SOCKETLESS_NAMES = ["pat", "liz"];
export abstract class Expectations {
  abstract readonly chance: Chance;
  /** Agents register in this folder, where the daemon may spawn. */
  abstract readonly directory: string;
  readonly received = new Map<string, ReceivedLog>();
  readonly actors: readonly Actor[] = NAMES.map((name) => new Actor(name, this.received));
  readonly agents: readonly Actor[] = SOCKETLESS_NAMES.map((name) =>
    new Actor(name, this.received)
  );
  /** Accepted messages: the 12 digits of each id, and the text. */
  readonly accepted = new Map<string, string>();
  /** The texts of requests that the daemon has refused: they must be nowhere. */
  readonly refused = new Set<string>();
  /** Requests with an idempotency key, which may be sent again. */
  readonly keyed: KeyedRequest[] = [];
  /** The texts that were ever sent with a key: each may be sent again, also after later ones. */
  readonly keyedTexts = new Set<string>();
  readonly asks: string[] = [];
  readonly schedules: string[] = [];
  /** The bytes stored in each attachment. */
  readonly files = new Map<string, string>();
  readonly leases: { peer_id: string; drain_id: string; delivery_ids: string[] }[] = [];
  readonly waits: PendingWait[] = [];
  /** The reported close reason of each ask. */
  readonly ended = new Map<string, string>();
  /** Earlier states of the database. */
  readonly copies: DatabaseCopy[] = [];
  /** The ids of all records after the last step. */
  ids: ReadonlySet<string> = new Set();
  /** The ids of records that were removed, or lost by a restore. */
  readonly gone_ids = new Set<string>();
  /** True once retention has removed old rows. */
  hasForgotten = false;
  /** True if this step ticked. */
  hasTicked = false;
  /** The last event that the reader of the stream has received. */
  last_streamed_event = 0;
  /** Every event that led to the present state, also those that retention has removed. */
  event_ids: number[] = [];
  #textCount = 0;

  /** A unique text with a rising number. */
  nextText(): string {
    return `${SECRET_WORD} ${String(++this.#textCount).padStart(6, "0")}`;
  }

  actor(): Actor {
    return this.chance.pick([...this.actors, ...this.agents]);
  }

  /** The registration of an actor; agents register in a folder where the daemon may spawn. */
  registrationOf(actor: Actor): { name: string; path: string; backend: string } {
    const location = this.agents.includes(actor)
      ? { path: this.directory, backend: "generic" }
      : { path: "/work", backend: "sdk" };
    return { name: actor.name, ...location };
  }

  /** The name of a peer: mostly an actor, else the human, a stranger or an unknown name. */
  anyPeerName(): string {
    const otherNames = ["stranger", HUMAN, "nobody"];
    return this.chance.oneIn(8) ? this.chance.pick(otherNames) : this.actor().name;
  }

  /** Records that a peer has sent a receipt, by any way. */
  recordReceipt(peer_id: string, delivery_id: string): void {
    for (const actor of this.actors) actor.recordReceipt(peer_id, delivery_id);
  }
}
