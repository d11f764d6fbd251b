/** The person who speaks from this page, and the state of its connection. */

import { BusDown } from "../components/bus_down.tsx";
import { StateShape } from "../components/icons/icon.tsx";
import { network } from "../state/network.ts";
import { humanName, sessionState } from "../state/session.ts";
import { connection } from "../state/stream.ts";

export function Speaker() {
  if (sessionState.value !== "human") return null;
  return (
    <p class="speaker row">
      You are{" "}
      <strong>
        <bdi>{humanName.value}</bdi>
      </strong>
    </p>
  );
}

const CONNECTIONS = { connecting: "Connecting", live: "Live", down: "Disconnected" };

export function Connection() {
  return (
    <p class="connection row" role="status">
      <ConnectionShape of={connection.value} />
      {CONNECTIONS[connection.value]}
    </p>
  );
}

/** A disc is live, a broken ring connects, a cross is lost. */
const CONNECTION_SHAPES = {
  connecting: "starting",
  live: "idle",
  connected: "idle",
  down: "failed",
} as const;

function ConnectionShape({ of }: { of: keyof typeof CONNECTION_SHAPES }) {
  return (
    <span class={`dot tone ${of}`}>
      <StateShape shape={CONNECTION_SHAPES[of]} />
    </span>
  );
}

/** The connection to the bus between machines; nothing without a bus. */
export function BusState() {
  const bus = network.value.value?.bus;
  if (!bus || bus.status === "disabled") return null;
  return (
    <div class={`bus ${bus.status}`}>
      <p class="connection row" role="status">
        <ConnectionShape of={bus.status} />
        Bus {bus.status}
      </p>
      {bus.status === "down" && <BusDown bus={bus} />}
    </div>
  );
}
