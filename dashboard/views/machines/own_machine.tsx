/** This machine in the list of machines: its connection to the bus, and its peers. */

import type { ComponentChildren } from "preact";
import { Fact, State } from "../../components/basics.tsx";
import { BusDown } from "../../components/bus_down.tsx";
import { useFold } from "../../components/act/folds.ts";
import { visible } from "../../components/text/visible.tsx";
import { latency } from "../../state/remote.ts";
import type { Network, Peer } from "../../state/records.ts";
import { Circles } from "../mesh/circles.tsx";

type Bus = Network["bus"];

/** `bus`: undefined until the machines are loaded. */
export function OwnMachineGroup(
  { bus, peers, ...shown }: {
    bus: Bus | undefined;
    peers: readonly Peer[];
    above: readonly Peer[];
    dense: boolean;
    is_filtered: boolean;
  },
) {
  const [is_detailed, turnDetails] = useFold("machine/own", false);
  const name = bus?.name ?? "This machine";
  return (
    <section class="machine rail stack" aria-label={name}>
      <header class="cluster">
        <h2>
          <bdi>{visible(name)}</bdi>
        </h2>
        {bus?.name && <span class="kind hint">this machine</span>}
        {bus && <BusFacts bus={bus} />}
        {bus && (
          <button
            type="button"
            class="quiet"
            aria-expanded={is_detailed}
            aria-label={`Details of ${name}`}
            onClick={turnDetails}
          >
            Details
          </button>
        )}
      </header>
      {bus?.status === "down" && <BusDown bus={bus} />}
      {bus && <Refusals bus={bus} />}
      {bus && is_detailed && <BusDetails bus={bus} />}
      {peers.length > 0
        ? <Circles peers={peers} {...shown} level="h3" />
        : <p class="hint">No agents on this machine yet.</p>}
    </section>
  );
}

function BusFacts({ bus: { status, latency_ms } }: { bus: Bus }) {
  return (
    <span class="cluster">
      <span class="hint">bus</span> <State of={status} />
      {status === "connected" && latency_ms !== null && (
        <span class="hint">latency {latency(latency_ms)}</span>
      )}
    </span>
  );
}

/** Refusals between this machine and others, and a second daemon with this machine's id. */
function Refusals({ bus: { identity_in_use: second_daemon, refused = [], refused_by = [] } }: {
  bus: Partial<Bus>;
}) {
  const all = [
    ...refused_by.map((refusal) => ({ refusal, what: "refuses this machine" })),
    ...refused.map((refusal) => ({ refusal, what: "is refused here" })),
  ];
  return (
    <>
      {second_daemon?.this_one === "connected" && (
        <p class="reason">
          A second daemon has this machine's identity and is refused:{" "}
          <bdi>{visible(second_daemon.place)}</bdi>. Run <code>mesh machines renew-identity</code>
          {" "}
          there.
        </p>
      )}
      {all.map(({ refusal: { daemon_id, name, reason, detail, hint }, what }) => (
        <p class="reason" key={`${what} ${daemon_id}`}>
          <bdi>{visible(name ?? daemon_id)}</bdi> {what} ({visible(reason)}): {visible(detail)}.
          {" "}
          {visible(hint)}.
        </p>
      ))}
    </>
  );
}

function BusDetails({ bus }: { bus: Bus }) {
  const { url, daemon_id, fingerprint, shared_circles } = bus;
  return (
    <dl class="card facts machine-details">
      <Fact name="Bus">{url ? <bdi>{visible(url)}</bdi> : "none"}</Fact>
      <Fact name="Id">
        <code>{daemon_id}</code>
      </Fact>
      <Fact name="Fingerprint">{fingerprint ? <code>{fingerprint}</code> : "none"}</Fact>
      <Fact name="Shares">{sharedText(shared_circles)}</Fact>
      <Fact name="Waits at the bus">{backlogText(bus)}</Fact>
    </dl>
  );
}

function sharedText(circles: readonly string[]): ComponentChildren {
  if (circles.length === 0) return "no circle";
  return circles.includes("*") ? "every circle" : visible(circles.join(", "));
}

function backlogText({ waiting_at_bus, bytes_at_bus, bytes_at_bus_max }: Bus): string {
  if (waiting_at_bus === null) return "not known";
  const batches = `${waiting_at_bus.toLocaleString()} for this machine`;
  if (bytes_at_bus === null) return batches;
  const limit = bytes_at_bus_max === null ? "" : ` of ${megabytes(bytes_at_bus_max)}`;
  return `${batches}; its store holds ${megabytes(bytes_at_bus)}${limit}`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toLocaleString(undefined, { maximumFractionDigits: 1 })} MB`;
}
