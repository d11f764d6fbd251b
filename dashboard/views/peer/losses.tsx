/** The losses when a peer is closed or killed: loaded, and shown before the act. */

import { duration, ResourceView } from "../../components/basics.tsx";
import { firstLine } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call, isRefusal } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Peer } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";
import { now } from "../../state/store.ts";
import { EXECUTING, isExecutedBy } from "protocol/derived/peers.ts";

const JOBS_MAX = "200";
const QUEUE_MAX = "500";
const SHOWN_MAX = 5;

export interface Item {
  readonly key: string;
  readonly text: string;
  readonly note: string;
}

interface Losses {
  /** Undefined if the daemon does not report it, as through a relay. */
  readonly queued: readonly Item[] | undefined;
  readonly asks_to: readonly Item[];
  readonly asks_from: readonly Item[];
  readonly jobs: readonly Item[];
}

async function loadLosses({ peer_id }: Peer): Promise<Losses> {
  const [queued, { asks }, jobs] = await Promise.all([
    loadQueue(peer_id),
    call(at.pendingAsks, { query: { peer_id, direction: "both" } }),
    loadJobs(peer_id),
  ]);
  const items = (wanted: typeof asks, nameOf: (ask: typeof asks[number]) => string) =>
    wanted.map((ask) => ({
      key: ask.correlation_id,
      text: firstLine(ask.text),
      note: `${nameOf(ask)}, ${ageOf(ask.created_at)}`,
    }));
  return {
    queued,
    asks_to: items(
      asks.filter((ask) => ask.to_peer_id === peer_id),
      (ask) => `from ${ask.from_peer_name}`,
    ),
    asks_from: items(
      asks.filter((ask) => ask.from_peer_id === peer_id && ask.to_peer_id !== peer_id),
      (ask) => `to ${ask.to_peer_name}`,
    ),
    jobs,
  };
}

/** An ask in the queue is counted as an open ask. */
async function loadQueue(peer_id: string): Promise<Item[] | undefined> {
  try {
    const query = { peer_id, state: "queued" as const, limit: QUEUE_MAX };
    const { deliveries } = await call(at.listDeliveries, { query });
    return deliveries.filter(({ kind }) => kind !== "ask").map((delivery) => ({
      key: delivery.delivery_id,
      text: firstLine(delivery.text),
      note: `${delivery.kind} from ${delivery.from_peer_name}, ${ageOf(delivery.created_at)}`,
    }));
  } catch (error) {
    if (isRefusal(error, "not_through_relay")) return undefined;
    throw error;
  }
}

async function loadJobs(peer_id: string): Promise<Item[]> {
  const lists = await Promise.all(
    EXECUTING.map((state) => call(at.listJobs, { query: { state, limit: JOBS_MAX } })),
  );
  return lists.flatMap(({ work }) => work).filter((job) => isExecutedBy(peer_id, job)).map((
    { job_id: key, title: text, state },
  ) => ({
    key,
    text,
    note: state.replaceAll("_", " "),
  }));
}

function ageOf(at: string): string {
  return `${duration((now.value - Date.parse(at)) / 1000)} ago`;
}

/** The lists of losses, with a sentence for each kind that loses nothing. */
export function LossList({ peer }: { peer: Peer }) {
  const load = () => loadLosses(peer);
  const resource = useResource(`${peer.peer_id} losses`, ["messages", "asks", "jobs"], load);
  return (
    <ResourceView resource={resource}>
      {({ queued, asks_to, asks_from, jobs }) => (
        <div class="losses rail warn stack">
          {queued === undefined
            ? <p>Messages that wait for it are dropped. Their number cannot be seen from here.</p>
            : (
              <Lost
                items={queued}
                single="1 queued message is dropped"
                many={`${queued.length} queued messages are dropped`}
                none="No other message waits for it."
              />
            )}
          <Lost
            items={asks_to}
            single="1 open ask to it is closed without an answer"
            many={`${asks_to.length} open asks to it are closed without an answer`}
            none="No ask to it is open."
          />
          <Lost
            items={asks_from}
            single="1 ask of its own stays open, and nobody is left to read the answer"
            many={`${asks_from.length} asks of its own stay open, and nobody is left to read the answers`}
            none="It waits for no answer."
          />
          <Lost
            items={jobs}
            single="1 job loses the peer that runs it"
            many={`${jobs.length} jobs lose the peer that runs them`}
            none="It runs no job."
          />
        </div>
      )}
    </ResourceView>
  );
}

function Lost(
  { items, single, many, none }: {
    items: readonly Item[];
    single: string;
    many: string;
    none: string;
  },
) {
  if (items.length === 0) return <p class="hint">{none}</p>;
  return (
    <section>
      <p>
        <strong>{items.length === 1 ? single : many}</strong>
      </p>
      <ul>
        {items.slice(0, SHOWN_MAX).map(({ key, text, note }) => (
          <li key={key}>
            <bdi>{visible(text)}</bdi> <span class="hint">{note}</span>
          </li>
        ))}
        {items.length > SHOWN_MAX && <li class="hint">and {items.length - SHOWN_MAX} more</li>}
      </ul>
    </section>
  );
}
