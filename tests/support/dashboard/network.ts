/** Other machines as the daemon reports them, for pages in a browser. */

import type { BrowserContext } from "playwright-core";
import type { Network, OtherMachine, Peer } from "../../../dashboard/state/records.ts";
import { peerOf } from "./records.ts";

type Bus = Network["bus"];

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();

/** The bus of a machine that has joined none. */
export const NO_BUS: Bus = {
  status: "disabled",
  url: null,
  since: null,
  reason: null,
  latency_ms: null,
  daemon_id: "dm-000000000001",
  name: null,
  fingerprint: null,
  shared_circles: [],
  waiting_at_bus: null,
  bytes_at_bus: null,
  bytes_at_bus_max: null,
  identity_in_use: null,
  refused: [],
  refused_by: [],
};

/** A machine called laptop, connected to a bus at home. */
export function busOf(fields: Partial<Bus> = {}): Bus {
  return {
    ...NO_BUS,
    status: "connected",
    url: "tls://bus.home.example:4222",
    since: ago(7200),
    latency_ms: 0.84,
    name: "laptop",
    fingerprint: "1f7b 3a90 c6e2 55d0 8e41 09bc 7a6f 2d13",
    shared_circles: ["shop", "ops"],
    waiting_at_bus: 0,
    bytes_at_bus: 4_200_000,
    bytes_at_bus_max: 1_000_000_000,
    ...fields,
  };
}

/** A machine that is online, near, and for which nothing waits. Its daemon id is `dm-` and its name. */
export function machineOf(fields: Partial<OtherMachine> & { readonly name: string }): OtherMachine {
  return {
    daemon_id: `dm-${fields.name}`,
    fingerprint: "90ab 3d7e 1f64 2b90 e4d1 a6c8 5e1f 0a9b",
    status: "online",
    last_seen: ago(6),
    latency_ms: 12.4,
    clock_ahead_ms: 40,
    peers: 1,
    waiting: 0,
    oldest_waiting_at: null,
    may_administer: false,
    ...fields,
  };
}

/** A peer that another machine shares, as GET /peers reports it. */
export function remotePeerOf(
  machine: string,
  fields: Partial<Peer> & { readonly name: string },
): Peer {
  const { name } = fields;
  return peerOf({
    peer_id: `peer-${name}-${machine}`,
    display_name: `${name}@${machine}`,
    machine,
    daemon_id: `dm-${machine}`,
    backend: "codex",
    circle: "shop",
    path: name,
    last_seen: ago(9),
    transport: "bus",
    ws_connected: false,
    ...fields,
  });
}

/** The network that a context's pages receive; it may change, and it counts its requests. */
export class FakeNetwork {
  answer: Network = { bus: NO_BUS, machines: [] };
  /** Peers that other machines share, in addition to the daemon's own. */
  remote: readonly Peer[] = [];
  requests = 0;

  /** This machine, two that are online, and one that is offline. */
  fill(): void {
    const machines = [
      machineOf({ name: "attic", status: "offline", last_seen: ago(3 * 3600 + 5), waiting: 1 }),
      machineOf({
        name: "buildbox",
        clock_ahead_ms: 300_000,
        waiting: 4,
        oldest_waiting_at: ago(190),
      }),
      machineOf({ name: "cloud", may_administer: true, peers: 0 }),
    ];
    this.answer = { bus: busOf(), machines };
    this.remote = [
      remotePeerOf("buildbox", { name: "api", status: "busy", turn_state: "working" }),
      remotePeerOf("buildbox", { name: "tests", circle: "ops" }),
      remotePeerOf("attic", { name: "old", status: "offline", inbound_status: "offline" }),
    ];
  }

  async install(context: BrowserContext): Promise<void> {
    await context.route("**/machines", async (route) => {
      this.requests++;
      await route.fulfill({ json: this.answer });
    });
  }

  /** From now on, the lists of peers hold those of other machines, too. */
  async addPeers(context: BrowserContext): Promise<void> {
    await context.route(/\/peers\?/, async (route) => {
      await unlessClosed(async () => {
        const { peers } = await (await route.fetch()).json();
        await route.fulfill({ json: { peers: [...peers, ...this.remote] } });
      });
    });
  }
}

/** Changes an answer on its way to a page, which may close or load again meanwhile. */
export async function unlessClosed(change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (error) {
    const isClosed = error instanceof Error && /closed|disposed/.test(error.message);
    if (!isClosed) throw error;
  }
}
