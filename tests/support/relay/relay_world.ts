/** A relay and daemons in memory, connected by the real routes, with one fake clock. */

import { type Ids, randomIds } from "kit/core/clock.ts";
import { jsonLog, type Log } from "kit/core/log.ts";
import type { ConnectionListener } from "kit/net/tunnel/connection.ts";
import { Relay } from "../../../relay/app/relay.ts";
import { RelayTelemetry } from "../../../relay/app/telemetry.ts";
import { namespaceOf } from "../../../relay/web/secrets.ts";
import type { OpenSocket } from "../../../daemon/api/relay/relay_client.ts";
import { FakeClock } from "../clock.ts";
import type { Collector } from "../telemetry/collector.ts";
import { countingIds } from "../ids.ts";
import { type World, world, type WorldOptions } from "../world.ts";
import { FakeConnection } from "./network.ts";
import { SwiftClock } from "../swift_clock.ts";

export const RELAY = "https://relay.test";
export const SECRET = `mesh_sk_${"s".repeat(43)}`;
export const OTHER_SECRET = `mesh_sk_${"o".repeat(43)}`;
export const NAMESPACE = namespaceOf(SECRET) ?? "";

/** Ids that are unique for each daemon of a test. Its own id is `dm-…` with this number. */
export function idsStartingAt(number: number): Ids {
  const ids = countingIds();
  for (let skipped = 1; skipped < number; skipped++) ids.hex(1);
  return ids;
}

export function daemonId(number: number): string {
  return `dm-${number.toString(16).padStart(12, "0")}`;
}

type Upgrade = (path: string, headers: Headers, listener: ConnectionListener) => Promise<{
  readonly status: number;
  readonly connection: FakeConnection | undefined;
}>;

/** Opens sockets by the relay's upgrade route. */
function relayDialer(upgrade: Upgrade, dials: { address: string; headers: Headers }[]): OpenSocket {
  return (address, baseHeaders, listener) => {
    const headers = new Headers({ ...baseHeaders, upgrade: "websocket" });
    dials.push({ address, headers });
    let connection: FakeConnection | undefined;
    let closed = false;
    const { pathname } = new URL(address.replace(/^ws/, "http"));
    void upgrade(pathname, headers, listener).then((upgraded) => {
      connection = upgraded.connection;
      if (connection) connection.notifyOpened();
      else if (!closed) listener.closed(0, "", `Invalid status code: ${upgraded.status}`);
    });
    return {
      get open() {
        return connection?.open ?? false;
      },
      get buffered() {
        return connection?.buffered ?? 0;
      },
      send: (data) => connection?.send(data),
      close(code, reason) {
        closed = true;
        connection?.close(code, reason);
      },
    };
  };
}

type DaemonOptions = WorldOptions & { secret?: string };

function startDaemon(
  on: { clock: FakeClock; openSocket: OpenSocket },
  number: number,
  options: DaemonOptions,
) {
  const { secret = SECRET, settings, ...more } = options;
  const relay = { "relay.enabled": "true", "relay.url": RELAY, "relay.secret": secret };
  return world({ ...on, ids: idsStartingAt(number), settings: { ...relay, ...settings }, ...more });
}

export type RelayWorld = ReturnType<typeof relayWorld>;

/** A relay whose upgraded sockets are pairs of connections in memory. */
function openRelay(clock: SwiftClock, log: Log, collector: Collector | undefined) {
  /** Both ends of each connection, the daemon's first. */
  const connections: [FakeConnection, FakeConnection][] = [];
  let pendingUpgrade:
    | { listener: ConnectionListener; ends?: [FakeConnection, FakeConnection] }
    | undefined;
  const relay = new Relay({
    clock,
    log,
    ids: randomIds,
    proxy: { mode: "direct" },
    oauth: undefined,
    telemetry: collector && openTelemetry(clock, log, collector),
    accept: (_request, listener) => {
      if (!pendingUpgrade) throw new Error("No upgrade is pending");
      const ends = pendingUpgrade.ends = FakeConnection.pair(pendingUpgrade.listener, listener);
      return { response: new Response(null), connection: ends[1] };
    },
  });
  const upgrade = async (listener: ConnectionListener, send: () => Promise<Response>) => {
    const attempt: typeof pendingUpgrade = pendingUpgrade = { listener };
    const { status } = await send();
    if (attempt.ends) connections.push(attempt.ends);
    return { status, connection: attempt.ends?.[0] };
  };
  return { relay, connections, upgrade };
}

function openTelemetry(clock: SwiftClock, log: Log, { handle: send }: Collector): RelayTelemetry {
  const options = { url: "http://127.0.0.1:4318/v1/traces", headers: {}, ratio: 1 };
  return new RelayTelemetry({ clock, log, ids: randomIds, send }, options);
}

/** With a collector, the relay records traces. */
export function relayWorld(clock = new SwiftClock(), collector?: Collector) {
  const logged: string[] = [];
  const log = jsonLog(clock, "debug", (line) => logged.push(line));
  /** The namespaces of signed-in browsers, by the value of their cookies. */
  const sessions = new Map<string, string>();
  const dials: { address: string; headers: Headers }[] = [];
  let isRunning = false;
  const { relay, connections, upgrade } = openRelay(clock, log, collector);
  const fetch = (path: string, init?: RequestInit) =>
    relay.fetch(signedIn(new Request(`${RELAY}${path}`, init), { relay, sessions }));
  const openSocket = relayDialer(
    (path, headers, listener) => upgrade(listener, () => fetch(path, { headers })),
    dials,
  );
  return {
    clock,
    logged,
    relay,
    sessions,
    connections,
    dials,
    fetch,
    openSocket,
    /** Starts the relay's own loop: from now on it ticks by itself. */
    run(): void {
      isRunning = true;
      void relay.run();
    },
    /** Starts a daemon and connects it. */
    async daemon(number = 1, options: DaemonOptions = {}): Promise<World> {
      const w = startDaemon({ clock, openSocket }, number, options);
      w.daemon.tick();
      await clock.settle();
      return w;
    },
    /** Advances the clock by seconds, with ticks of the relay and of these daemons. */
    async tick(seconds: number, ...daemons: World[]): Promise<void> {
      for (let second = 0; second < seconds; second++) {
        await clock.advance(1000);
        if (!isRunning) relay.tick();
        for (const { daemon } of daemons) daemon.tick();
        await clock.settle();
      }
    },
    /** Sends a request to one machine, as the relay's tools do. */
    ask(number: number, path: `/${string}`, more: Partial<RelayRequest> = {}): Promise<Response> {
      const relayRequest = { method: "GET", path, timeout_ms: 10_000, ...more };
      return relay.machines.request(NAMESPACE, daemonId(number), relayRequest);
    },
    [Symbol.asyncDispose]: () => relay[Symbol.asyncDispose](),
  };
}

type RelayRequest = Parameters<Relay["machines"]["request"]>[2];

/** Replaces the cookie that a test has chosen by that of a session of the relay. */
function signedIn(
  request: Request,
  { relay, sessions }: { relay: Relay; sessions: ReadonlyMap<string, string> },
): Request {
  const namespace = sessions.get(request.headers.get("cookie") ?? "");
  if (namespace === undefined) return request;
  const [cookie = ""] = relay.sessions.open(namespace, request).split(";");
  request.headers.set("cookie", cookie);
  return request;
}
