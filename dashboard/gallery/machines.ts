/** Samples of machines: each state of the bus, and of another machine; and of sleeping peers. */

import type { RemoteGroup } from "../state/remote.ts";
import type { Message, Network, OtherMachine, Peer } from "../state/records.ts";
import { MESSAGES } from "./samples.ts";

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();

const BUS: Network["bus"] = {
  status: "connected",
  url: "tls://bus.home.example:4222",
  since: ago(7200),
  reason: null,
  latency_ms: 0.84,
  daemon_id: "dm-1f7b3a90c6e2",
  name: "laptop",
  fingerprint: "1f7b 3a90 c6e2 55d0 8e41 09bc 7a6f 2d13",
  shared_circles: ["shop", "ops"],
  waiting_at_bus: 3,
  bytes_at_bus: 4_200_000,
  bytes_at_bus_max: 1_000_000_000,
  identity_in_use: null,
  refused: [],
  refused_by: [],
};

export const BUSES: readonly Network["bus"][] = [
  BUS,
  { ...BUS, name: "connects", status: "connecting", shared_circles: ["*"], waiting_at_bus: null },
  {
    ...BUS,
    name: "without-a-bus",
    status: "down",
    since: ago(245),
    reason: "The server refused the user of this machine.",
    shared_circles: [],
  },
];

const MACHINE: OtherMachine = {
  daemon_id: "dm-90ab3d7e1f64",
  name: "buildbox",
  fingerprint: "90ab 3d7e 1f64 2b90 e4d1 a6c8 5e1f 0a9b",
  status: "online",
  last_seen: ago(6),
  latency_ms: 12.4,
  clock_ahead_ms: 300_000,
  peers: 2,
  waiting: 1204,
  oldest_waiting_at: ago(190),
  went_back: { at: ago(3700), sent_again: 12 },
  may_administer: true,
};

const PEER: Peer = {
  peer_id: "peer-00000000000b",
  name: "api@buildbox",
  display_name: "api@buildbox",
  path: "api",
  machine: "buildbox",
  daemon_id: MACHINE.daemon_id,
  tmux_session: null,
  terminal: null,
  tmux_socket: null,
  pane_id: null,
  backend: "sdk",
  model: "gpt-5.5",
  circle: "shop",
  role: "agent",
  status: "busy",
  turn_state: "working",
  last_seen: ago(9),
  description: "Splits the slow end-to-end suite",
  tags: [],
  reminders: null,
  queue_max: null,
  pair_per_minute: null,
  hook_messages: true,
  wake_policy: null,
  wake: null,
  metadata: {},
  agent_pid: null,
  mesh_session_id: null,
  source: "unknown",
  parent_peer_id: null,
  ephemeral: false,
  addressable: true,
  transport: "bus",
  ws_connected: false,
  inbound_status: "ok",
  waits_for: null,
  offline_since: null,
  offline_reason: null,
  last_delivery_at: null,
  last_delivery_failure_at: null,
  pending_ask_count: 1,
  oldest_pending_age_seconds: 190,
  registered_at: ago(86_400),
};

const OFFLINE: Peer = {
  ...PEER,
  peer_id: "peer-00000000000c",
  name: "old@attic",
  display_name: "old@attic",
  status: "offline",
  inbound_status: "offline",
  turn_state: null,
};

const ASLEEP: Peer = {
  ...PEER,
  peer_id: "peer-00000000000d",
  name: "night",
  display_name: "night",
  machine: null,
  backend: "claude-code",
  status: "offline",
  inbound_status: "offline",
  turn_state: null,
  offline_since: ago(7200),
  pending_ask_count: 0,
  oldest_pending_age_seconds: null,
  wake: { state: "asleep", policy: "ask", reason: null, detail: null },
};

/** A sleeping peer, and the human asked whether to wake it. */
export const SLEEPERS: readonly Peer[] = [
  ASLEEP,
  {
    ...ASLEEP,
    peer_id: "peer-00000000000e",
    name: "nightly-builds",
    wake: { state: "asking", policy: "ask", reason: null, detail: null },
  },
];

/** Online with waiting messages, sharing nothing, gone for hours, never seen, and not loaded. */
export const GROUPS: readonly RemoteGroup[] = [
  groupOf("buildbox", {}, [PEER]),
  groupOf("cloud", { waiting: 0, clock_ahead_ms: 0, latency_ms: null }, []),
  groupOf("attic", { status: "offline", last_seen: ago(11_000), waiting: 1 }, [OFFLINE]),
  groupOf("cellar", { status: "offline", last_seen: null, waiting: 0 }, [OFFLINE]),
  {
    daemon_id: "dm-unknown",
    name: "a-machine-with-a-name-that-needs-more-room-than-a-phone-has",
    machine: undefined,
    peers: [PEER],
  },
];

/** Some of the messages that wait for the first machine. */
export const WAITING_MESSAGES: readonly Message[] = MESSAGES.map((message) => ({
  ...message,
  to_peer_id: PEER.peer_id,
}));

function groupOf(
  name: string,
  fields: Partial<OtherMachine>,
  peers: readonly Peer[],
): RemoteGroup {
  const daemon_id = `dm-${name}`;
  return { daemon_id, name, machine: { ...MACHINE, ...fields, daemon_id, name }, peers };
}
