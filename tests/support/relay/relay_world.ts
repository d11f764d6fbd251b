/** A relay in memory, and daemons that dial it: real routes on both sides, one fake clock. */

import { type Ids, randomIds } from "kit/core/clock.ts";
import { jsonLog } from "kit/core/log.ts";
import type { Ears } from "kit/net/tunnel/connection.ts";
import { Relay } from "../../../relay/app/relay.ts";
import { namespaceOf } from "../../../relay/web/secrets.ts";
import type { Dial } from "../../../daemon/api/relay/relay_client.ts";
import { FakeClock } from "../clock.ts";
import { countingIds } from "../ids.ts";
import { type World, world, type WorldOptions } from "../world.ts";
import { End } from "./network.ts";
import { SwiftClock } from "../swift_clock.ts";

export const RELAY = "https://relay.test";
export const SECRET = `mesh_sk_${"s".repeat(43)}`;
export const OTHER_SECRET = `mesh_sk_${"o".repeat(43)}`;
export const NAMESPACE = namespaceOf(SECRET) ?? "";

/** Ids that no other daemon of the test draws: its own id is `dm-…` with this number. */
function idsFrom(number: number): Ids {
  const ids = countingIds();
  for (let drawn = 1; drawn < number; drawn++) ids.hex(1);
  return ids;
}

export function daemonId(number: number): string {
  return `dm-${number.toString(16).padStart(12, "0")}`;
}

type Upgrade = (path: string, headers: Headers, ears: Ears) => Promise<{
  readonly status: number;
  readonly line: End | undefined;
}>;

/** Dials as the runtime would: the upgrade is the relay's own route. */
function dialler(upgrade: Upgrade, dials: { address: string; headers: Headers }[]): Dial {
  return (address, said, ears) => {
    const headers = new Headers({ ...said, upgrade: "websocket" });
    dials.push({ address, headers });
    let line: End | undefined;
    let closed = false;
    const { pathname } = new URL(address.replace(/^ws/, "http"));
    void upgrade(pathname, headers, ears).then((upgraded) => {
      line = upgraded.line;
      if (line) line.established();
      else if (!closed) ears.closed(0, "", `Invalid status code: ${upgraded.status}`);
    });
    return {
      get open() {
        return line?.open ?? false;
      },
      get buffered() {
        return line?.buffered ?? 0;
      },
      send: (data) => line?.send(data),
      close(code, reason) {
        closed = true;
        line?.close(code, reason);
      },
    };
  };
}

type Started = WorldOptions & { secret?: string };

function startDaemon(on: { clock: FakeClock; dial: Dial }, number: number, options: Started) {
  const { secret = SECRET, settings, ...more } = options;
  const relay = { "relay.enabled": "true", "relay.url": RELAY, "relay.secret": secret };
  return world({ ...on, ids: idsFrom(number), settings: { ...relay, ...settings }, ...more });
}

export type RelayWorld = ReturnType<typeof relayWorld>;

export function relayWorld(clock = new SwiftClock()) {
  const logged: string[] = [];
  const log = jsonLog(clock, "debug", (line) => logged.push(line));
  /** Browsers that are signed in: by what stands for their cookies, their namespaces. */
  const sessions = new Map<string, string>();
  /** Both ends of each line that stood, the daemon's first. */
  const lines: [End, End][] = [];
  const dials: { address: string; headers: Headers }[] = [];
  let arriving: { ears: Ears; ends?: [End, End] } | undefined;
  const relay = new Relay({
    clock,
    log,
    ids: randomIds,
    proxy: { mode: "direct" },
    oauth: undefined,
    accept: (_request, ears) => {
      if (!arriving) throw new Error("Nobody dials");
      const ends = arriving.ends = End.pair(arriving.ears, ears);
      return { response: new Response(null), line: ends[1] };
    },
  });
  const fetch = (path: string, init?: RequestInit) =>
    relay.fetch(signedIn(new Request(`${RELAY}${path}`, init), { relay, sessions }));
  const dial = dialler((path, headers, ears) => {
    arriving = { ears };
    const here = arriving;
    return fetch(path, { headers }).then(({ status }) => {
      if (here.ends) lines.push(here.ends);
      return { status, line: here.ends?.[0] };
    });
  }, dials);
  return {
    clock,
    logged,
    relay,
    sessions,
    lines,
    dials,
    fetch,
    dial,
    /** A daemon that has dialled, and was greeted. */
    async daemon(number = 1, options: Started = {}): Promise<World> {
      const w = startDaemon({ clock, dial }, number, options);
      w.daemon.beat();
      await clock.settle();
      return w;
    },
    /** A second passes for the relay and these daemons. */
    async beat(seconds: number, ...daemons: World[]): Promise<void> {
      for (let second = 0; second < seconds; second++) {
        await clock.advance(1000);
        relay.beat();
        for (const { daemon } of daemons) daemon.beat();
        await clock.settle();
      }
    },
    /** Asks one machine, as the relay's tools do. */
    ask(number: number, path: `/${string}`, more: Partial<AskedOf> = {}): Promise<Response> {
      const asked = { method: "GET", path, timeout_ms: 10_000, ...more };
      return relay.machines.request(NAMESPACE, daemonId(number), asked);
    },
    [Symbol.asyncDispose]: () => relay[Symbol.asyncDispose](),
  };
}

type AskedOf = Parameters<Relay["machines"]["request"]>[2];

/** A browser that a test has signed in under a name of its own, with a cookie of the relay's. */
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
