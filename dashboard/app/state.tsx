/** Who speaks from this page, and how it is connected. */

import { BusDown } from "../components/bus_down.tsx";
import { type Shape, StateShape } from "../components/icons/icon.tsx";
import { network } from "../state/network.ts";
import { humanName, sessionState } from "../state/session.ts";
import { connection } from "../state/stream.ts";

export function Speaker() {
  if (sessionState.value !== "human") return null;
  return (
    <p class="speaker">
      You are{" "}
      <strong>
        <bdi>{humanName.value}</bdi>
      </strong>
    </p>
  );
}

const CONNECTIONS: Readonly<Record<typeof connection.value, readonly [text: string, Shape]>> = {
  connecting: ["Connecting", "starting"],
  live: ["Live", "idle"],
  down: ["Disconnected", "failed"],
};

export function Connection() {
  const state = connection.value;
  const [text, shape] = CONNECTIONS[state];
  return (
    <p class={`connection ${state}`} role="status">
      <StateShape shape={shape} />
      {text}
    </p>
  );
}

/** The connection to the bus between machines; nothing without a bus. */
export function BusState() {
  const bus = network.value.value?.bus;
  if (!bus || bus.status === "disabled") return null;
  const state = bus.status === "connected" ? "live" : bus.status;
  return (
    <div class={`bus ${bus.status}`}>
      <p class={`connection ${state}`} role="status">
        <StateShape shape={CONNECTIONS[state][1]} />
        Bus {bus.status}
      </p>
      {bus.status === "down" && <BusDown bus={bus} />}
    </div>
  );
}
