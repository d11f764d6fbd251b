/** Keeps the records of the live view current: follows the event stream, and loads what changed. */

import type { Clock } from "kit/core/clock.ts";
import { pause } from "kit/core/timeout.ts";
import { ApiError, type Call } from "kit/http/client.ts";
import {
  listAsks,
  listInbox,
  listMessages,
  listPeers,
  pendingAsks,
} from "protocol/generated/endpoints.ts";
import {
  type DaemonClient,
  DaemonUnreachable,
  undefinedOnRefusal,
} from "../client/daemon_client.ts";
import { watchEvents } from "../client/event_stream.ts";
import { fetchMessages } from "../commands/search.ts";
import { isSnoozed } from "protocol/derived/waiting.ts";
import {
  ALL_TOPICS,
  type Messages,
  NO_RECORDS,
  type Records,
  type Topic,
  topicsOf,
} from "./records.ts";

/** The largest page that the daemon returns. */
const PAGE_MAX = 500;
const MESSAGES_STEP = 100;
const INTERVAL_MS = 300;
const QUEUED_INTERVAL_MS = 1_000;
const RETRY_MS = 1_000;

interface SourceOptions {
  readonly daemon: Pick<DaemonClient, "call" | "get">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called after each change of the records. */
  readonly onChange: (topics: readonly Topic[]) => void;
  /** Called with unexpected errors. */
  readonly onError: (error: unknown) => void;
}

export class Source {
  records: Records = NO_RECORDS;
  readonly #options: SourceOptions;
  readonly #call: Call;
  readonly #refreshers: Readonly<Record<Topic, Refresher>>;
  #messages_max = MESSAGES_STEP;
  #found_max = MESSAGES_STEP;
  #query: string | undefined;

  constructor(options: SourceOptions) {
    const { clock, signal, daemon } = options;
    this.#options = options;
    this.#call = daemon.call;
    const refresher = (load: () => Promise<void>, interval_ms = INTERVAL_MS) =>
      new Refresher(load, { clock, signal, interval_ms });
    this.#refreshers = {
      peers: refresher(() => this.#loadPeers()),
      asks: refresher(() => this.#loadAsks()),
      inbox: refresher(() => this.#loadInbox()),
      messages: refresher(() => this.#loadMessages()),
      queued: refresher(() => this.#loadQueued(), QUEUED_INTERVAL_MS),
    };
  }

  /** Follows the stream until the signal aborts. Throws only when the first connection fails. */
  async run(): Promise<void> {
    const { daemon, clock, signal } = this.#options;
    const onConnectionChange = (change: "lost" | "resumed") => {
      if (change === "lost") this.#markLost();
    };
    for (let first = true; !signal.aborted; first = false) {
      try {
        for await (const { type } of watchEvents({ daemon, clock, signal, onConnectionChange })) {
          first = false;
          this.#refresh(topicsOf(type), { isNewConnection: type === "ready" });
        }
      } catch (error) {
        if (first || !isLoss(error)) throw error;
        this.#markLost();
        await pause(clock, RETRY_MS, signal);
      }
    }
  }

  /** Loads older messages, too, if there are any. */
  loadOlder(): void {
    const { found, messages } = this.records;
    if (!(found ?? messages).hasMore) return;
    if (found) this.#found_max = Math.min(PAGE_MAX, this.#found_max + MESSAGES_STEP);
    else this.#messages_max = Math.min(PAGE_MAX, this.#messages_max + MESSAGES_STEP);
    this.#refresh(["messages"]);
  }

  /** Searches all messages; undefined ends the search. */
  async search(query: string | undefined): Promise<void> {
    this.#query = query;
    this.#found_max = MESSAGES_STEP;
    this.#change({ found: undefined }, "messages");
    await this.#find();
  }

  #refresh(topics: readonly Topic[], { isNewConnection = false } = {}): void {
    const loads = topics.map((topic) => this.#refreshers[topic].request());
    Promise.all(loads).then(() => {
      if (isNewConnection) this.#change({ lost_at: undefined, loaded: true }, ...ALL_TOPICS);
    }).catch((error) => {
      // The stream notices the same loss. After the reconnection, everything is loaded again.
      if (!isLoss(error) && !this.#options.signal.aborted) this.#options.onError(error);
    });
  }

  async #loadPeers(): Promise<void> {
    const { peers } = await this.#call(listPeers, { query: { live: "true", subagents: "false" } });
    this.#change({ peers: peers.filter(isShown) }, "peers");
  }

  async #loadAsks(): Promise<void> {
    const query = { state: "open" as const, limit: String(PAGE_MAX) };
    this.#change({ open_asks: (await this.#call(listAsks, { query })).asks }, "asks");
  }

  async #loadInbox(): Promise<void> {
    const query = { open: "true" as const, limit: String(PAGE_MAX) };
    const found = await undefinedOnRefusal("no_human", () => this.#call(listInbox, { query }));
    if (!found) return this.#change({ inbox: undefined }, "inbox");
    const asked = { peer_id: found.human_peer_id, direction: "inbound" as const };
    const { asks } = await this.#call(pendingAsks, { query: asked });
    const now = this.#options.clock.now();
    const items = found.items.filter((item) => !isSnoozed(item, now));
    this.#change({ inbox: { ...found, items, asks } }, "inbox");
  }

  async #loadMessages(): Promise<void> {
    this.#change({ messages: await this.#fetch({}, this.#messages_max) }, "messages");
    await this.#find();
  }

  async #find(): Promise<void> {
    const query = this.#query;
    if (query === undefined) return;
    const found = await this.#fetch({ q: query }, this.#found_max);
    // Another search may have begun meanwhile.
    if (query === this.#query) this.#change({ found: { ...found, query } }, "messages");
  }

  async #loadQueued(): Promise<void> {
    // One page: the daemon looks through the latest messages only.
    const query = { state: "queued" as const, limit: String(PAGE_MAX) };
    const { messages } = await this.#call(listMessages, { query });
    const waiting = Map.groupBy(messages, ({ to_peer_id }) => to_peer_id);
    const counts = [...waiting].map(([peer_id, rows]) => [peer_id, rows.length] as const);
    this.#change({ queued: new Map(counts) }, "queued");
  }

  async #fetch(query: { readonly q?: string }, max: number): Promise<Messages> {
    const { messages, next } = await fetchMessages(this.#call, query, max);
    return { rows: messages, hasMore: next !== null && max < PAGE_MAX };
  }

  #markLost(): void {
    this.#change({ lost_at: this.records.lost_at ?? this.#options.clock.now() });
  }

  #change(changes: Partial<Records>, ...topics: Topic[]): void {
    this.records = { ...this.records, ...changes };
    this.#options.onChange(topics);
  }
}

const isShown = ({ status, role }: Records["peers"][number]) =>
  status !== "retired" && role !== "human";

/** True if the daemon is gone or shuts down. Deno reports a lost connection as a TypeError. */
export function isLoss(error: unknown): boolean {
  return error instanceof DaemonUnreachable || error instanceof TypeError ||
    (error instanceof ApiError && error.status >= 500);
}

interface RefresherOptions extends Pick<SourceOptions, "clock" | "signal"> {
  /** The time from the start of one load to the start of the next. */
  readonly interval_ms: number;
}

class Refresher {
  readonly #load: () => Promise<void>;
  readonly #options: RefresherOptions;
  #loading: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #startedAt = -Infinity;

  constructor(load: () => Promise<void>, options: RefresherOptions) {
    this.#load = load;
    this.#options = options;
  }

  /** Resolves when a load has ended that began after this call. */
  request(): Promise<void> {
    return this.#next ??= this.#after(this.#loading);
  }

  async #after(loading: Promise<void> | undefined): Promise<void> {
    await loading?.catch(() => undefined); // Its own callers get the error.
    const { clock, signal, interval_ms } = this.#options;
    const wait_ms = this.#startedAt + interval_ms - clock.monotonic();
    if (wait_ms > 0) await pause(clock, wait_ms, signal);
    this.#startedAt = clock.monotonic();
    this.#loading = this.#next;
    this.#next = undefined;
    if (!signal.aborted) await this.#load();
  }
}
