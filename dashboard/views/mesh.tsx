/** Mesh: the peers by machine and circle, filtered, dense or roomy; their map; what they hold. */

import { Choices, Empty, ResourceView } from "../components/basics.tsx";
import { lazy } from "../components/lazy.tsx";
import { SearchField } from "../components/act/search_field.tsx";
import { hasOtherMachines } from "../state/network.ts";
import type { Peer } from "../state/records.ts";
import { needsPerson } from "protocol/derived/peers.ts";
import { filter, preferred, route } from "../state/router.ts";
import { livePeers, peers, waitingAsks } from "../state/store.ts";
import { FirstRun } from "./first_run.tsx";
import { Circles } from "./mesh/circles.tsx";
import { type Order, ORDERS, sortPeers, toOrder } from "./mesh/order.ts";
import { PeerList, useFreshAges } from "./mesh/peer_card.tsx";
import { Orphans } from "./spawn/orphans.tsx";
import { SpawnButton, SpawnWindow } from "./spawn/spawn_button.tsx";

/** Only networks of several machines need its code. */
const MachineGroups = lazy(() => import("./managing.ts").then((part) => part.MachineGroups));
const Holdings = lazy(() => import("./managing.ts").then((part) => part.Holdings));
const MeshMap = lazy(() => import("./managing.ts").then((part) => part.MeshMap));

type StatusFilter = "all" | "online" | "busy" | "offline";

const IS_SHOWN: Readonly<Record<StatusFilter, (peer: Peer) => boolean>> = {
  all: () => true,
  online: ({ status }) => status !== "offline",
  busy: ({ status, turn_state }) => status === "busy" || turn_state === "working",
  offline: ({ status }) => status === "offline",
};

const TABS = { list: "List", map: "Map", holdings: "Leases" } as const;
type Tab = keyof typeof TABS;
const TAB_OPTIONS = Object.entries(TABS) as [Tab, string][];

/** The peers as a list, or as a map of their messages; or what they use and hold. */
export function Mesh() {
  const asked = preferred("tab");
  const tab = TAB_OPTIONS.find(([name]) => name === asked)?.[0] ?? "list";
  return (
    <>
      <div class="tabs">
        <Choices<Tab>
          label="View of the mesh"
          chosen={tab}
          choose={(tab) => filter({ tab })}
          options={TAB_OPTIONS}
        />
      </div>
      {tab === "list" && <PeersByCircle />}
      {tab === "map" && <MeshMap />}
      {tab === "holdings" && <Holdings />}
    </>
  );
}

function PeersByCircle() {
  const { query } = route.value;
  const text = query.get("q") ?? "";
  const shown = toStatusFilter(query.get("show"));
  const dense = preferred("dense") === "1";
  const order = toOrder(preferred("sort"));
  useFreshAges();
  const found = livePeers.value.filter(IS_SHOWN[shown]).filter((peer) => matches(peer, text));
  const count = (which: StatusFilter) => livePeers.value.filter(IS_SHOWN[which]).length;
  return (
    <ResourceView resource={peers}>
      {() =>
        livePeers.value.length === 0 && !hasOtherMachines.value ? <FirstRun /> : (
          <>
            <div class="toolbar">
              <SearchField
                label="Filter peers"
                placeholder="Filter by name, circle, path, model…"
                value={text}
                search={(q) => filter({ q })}
              />
              <Choices
                label="Show"
                chosen={shown}
                choose={(show) => filter({ show: show === "all" ? "" : show })}
                options={[
                  ["all", `All ${count("all")}`],
                  ["online", `Online ${count("online")}`],
                  ["busy", `At work ${count("busy")}`],
                  ["offline", `Offline ${count("offline")}`],
                ]}
              />
              <SortBy order={order} />
              <button
                type="button"
                aria-pressed={dense}
                onClick={() => filter({ dense: dense ? "0" : "1" })}
              >
                Compact
              </button>
              <SpawnButton />
            </div>
            <FilteredPeers
              peers={sortPeers(found, order)}
              by_need={order === "need"}
              dense={dense}
              is_filtered={text !== "" || shown !== "all"}
            />
            <Orphans />
            <SpawnWindow />
          </>
        )}
    </ResourceView>
  );
}

/**
 * The peers that need a person come first, of all circles and machines. A machine that shares no
 * peer is shown unless a search is active.
 */
function FilteredPeers(
  { peers, by_need, dense, is_filtered }: {
    peers: readonly Peer[];
    by_need: boolean;
    dense: boolean;
    is_filtered: boolean;
  },
) {
  if (is_filtered && peers.length === 0) {
    return (
      <Empty title="No peer matches">
        The peers of this mesh are hidden by the filter. Change or clear it.
      </Empty>
    );
  }
  const askers = new Set(waitingAsks.value.map(({ ask }) => ask.from_peer_id));
  const needing = by_need ? peers.filter((peer) => needsPerson(peer, askers)) : [];
  const props = { peers, above: needing, dense, is_filtered };
  return (
    <>
      {needing.length > 0 && (
        <section class="group stack">
          <h2 class="row">
            Needs you<span class="count hint">{needing.length}</span>
          </h2>
          <PeerList peers={needing} dense={dense} />
        </section>
      )}
      {hasOtherMachines.value ? <MachineGroups {...props} /> : <Circles {...props} />}
    </>
  );
}

function SortBy({ order }: { order: Order }) {
  const sort = ({ currentTarget: { value } }: { currentTarget: HTMLSelectElement }) =>
    filter({ sort: value });
  return (
    <select class="narrow" aria-label="Sort by" value={order} onChange={sort}>
      {Object.entries(ORDERS).map(([value, text]) => (
        <option key={value} value={value}>{`Sort: ${text.toLowerCase()}`}</option>
      ))}
    </select>
  );
}

function matches(peer: Peer, text: string): boolean {
  const { name, circle, path, model, backend, description } = peer;
  const all = [name, circle, path, model, backend, description].join(" ").toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}

function toStatusFilter(text: string | null): StatusFilter {
  return text !== null && text in IS_SHOWN ? text as StatusFilter : "all";
}
