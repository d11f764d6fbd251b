/** The relay's features with real daemons, connected by a fake of the tunnel that can fail. */

import { client } from "kit/http/client.ts";
import type { Ids } from "kit/core/clock.ts";
import { jsonLog } from "kit/core/log.ts";
import { Problem } from "protocol/problems.ts";
import { serve } from "kit/http/serve.ts";
import { registerPeer } from "protocol/peers/contract.ts";
import { OriginPolicy } from "../../../relay/web/origin_policy.ts";
import { Devices } from "../../../relay/sign_in/devices.ts";
import { Sessions } from "../../../relay/sign_in/sessions.ts";
import type { Bearer } from "protocol/relay/mcp.ts";
import { RelayFeatures } from "../../../relay/app/relay.ts";
import { namespaceOf } from "../../../relay/web/secrets.ts";
import type { Machine, MachineRequest, Machines } from "protocol/relay/daemons.ts";
import { countingIds } from "../ids.ts";
import { BASE, type World, world } from "../world.ts";
import { SwiftClock } from "../swift_clock.ts";

export const ISSUER = "https://relay.example";
export const SECRET = `mesh_sk_${"a".repeat(43)}`;
export const OTHER_SECRET = `mesh_sk_${"b".repeat(43)}`;
export const NAMESPACE = namespaceOf(SECRET) ?? "";
export const OTHER_NAMESPACE = namespaceOf(OTHER_SECRET) ?? "";

/** A failure of the next request that matches. */
export interface RequestFailure {
  readonly path: RegExp;
  /** The request fails before or after the machine has received it. */
  readonly when: "before" | "after";
  readonly code: "machine_offline" | "timed_out";
}

interface FakeMachine {
  readonly machine: Machine;
  readonly answer: (request: Request) => Promise<Response>;
  online: boolean;
}

/** The machines by id: real daemons, or handlers of a test. */
class FakeTunnel implements Machines {
  readonly forwarded: { daemon_id: string; request: MachineRequest }[] = [];
  nextFailure: RequestFailure | undefined;
  readonly #machines = new Map<string, FakeMachine>();

  connect(
    namespace: string,
    daemon_id: string,
    answer: (request: Request) => Promise<Response>,
  ): void {
    const known = { machine: `${daemon_id}.local`, connected_at: Date.parse("2030-01-01") };
    const machine = { daemon_id, ...known, version: "0.1.0", capabilities: {} };
    this.#machines.set(`${namespace} ${daemon_id}`, { machine, answer, online: true });
  }

  cut(namespace: string, daemon_id: string): void {
    const standing = this.#machines.get(`${namespace} ${daemon_id}`);
    if (standing) standing.online = false;
  }

  list(namespace: string): Machine[] {
    return [...this.#machines].filter(([key, { online }]) =>
      online && key.startsWith(`${namespace} `)
    ).map(([, { machine }]) => machine);
  }

  async request(
    namespace: string,
    daemon_id: string,
    machineRequest: MachineRequest,
  ): Promise<Response> {
    this.forwarded.push({ daemon_id, request: machineRequest });
    const standing = this.#machines.get(`${namespace} ${daemon_id}`);
    if (!standing) {
      throw new Problem("unknown_machine", { daemon_id, may_have_been_delivered: false });
    }
    const { nextFailure } = this;
    const matched = nextFailure?.path.test(machineRequest.path) ? nextFailure : undefined;
    if (matched?.when === "before") throw failure(matched.code, daemon_id, false);
    if (!standing.online) throw failure("machine_offline", daemon_id, false);
    const { method, path, headers, body, signal } = machineRequest;
    const response = await standing.answer(
      new Request(`${BASE}${path}`, {
        method,
        ...(headers && { headers }),
        ...(body !== undefined && { body }),
        ...(signal && { signal }),
      }),
    );
    if (matched) throw failure(matched.code, daemon_id, true);
    return response;
  }
}

function failure(
  code: RequestFailure["code"],
  daemon_id: string,
  may_have_been_delivered: boolean,
) {
  return code === "timed_out"
    ? new Problem(code, { daemon_id, timeout_ms: 1, may_have_been_delivered })
    : new Problem(code, { daemon_id, reason: "the connection is lost", may_have_been_delivered });
}

/** Rate limits that allow everything until a test changes that. */
class FakeRateLimiter {
  wait: number | undefined;
  readonly keys: string[] = [];

  readonly take = () => this.wait;
  readonly acquire = (key: string) => {
    this.keys.push(key);
    return this.wait;
  };
}

function toCaller(remote: Deno.NetAddr | undefined) {
  return { remote, human: false, authorized: true, holds_token: false };
}

export type RelayFixture = Awaited<ReturnType<typeof relayFixture>>;

/** The features of a relay in memory. Remote MCP is on, unless `issuer` is null. */
export function relayFixture(
  { issuer = ISSUER, ids = countingIds() }: { issuer?: string | null; ids?: Ids } = {},
) {
  const clock = new SwiftClock();
  const logged: string[] = [];
  const log = jsonLog(clock, "debug", (line) => logged.push(line));
  const machines = new FakeTunnel();
  const tokens = new Map<string, Bearer>();
  const limits = {
    register: new FakeRateLimiter(),
    login: new FakeRateLimiter(),
    guestAsks: new FakeRateLimiter(),
    shareVisits: new FakeRateLimiter(),
    shareCreations: new FakeRateLimiter(),
  };
  const check = (token: string) => tokens.get(token);
  const oauth = issuer === null ? undefined : { issuer, tokens: { check } };
  const originPolicy = new OriginPolicy(issuer ?? undefined);
  const hasConnectedMachine = (namespace: string) => machines.list(namespace).length > 0;
  const sessions = new Sessions({ clock, ids, originPolicy, hasConnectedMachine });
  const features = new RelayFeatures({
    clock,
    ids,
    log,
    originPolicy,
    sessions,
    devices: new Devices({ clock, originPolicy }),
    oauth,
    machines,
    limits,
  });
  const base = issuer ?? "http://127.0.0.1:8378";
  const fetch = serve(features.routes, {
    admit: () => undefined,
    authorize: (_request, _contract, remote) => toCaller(remote),
    whenDurable: () => undefined,
    error: (error) => log.error("A route failed", { error }),
  });
  return {
    clock,
    logged,
    machines,
    tokens,
    limits,
    sessions,
    features,
    base,
    fetch,
    call: client(base, fetch, { authorization: `Bearer ${SECRET}` }),
    /** Sends a request, as a program or as a browser with its headers. */
    send: (path: string, init?: RequestInit) => fetch(new Request(`${base}${path}`, init)),
    async [Symbol.asyncDispose]() {
      await features[Symbol.asyncDispose]();
    },
  };
}

/** Connects a real daemon to the relay. Dispose of both. */
export function connectDaemon(at: RelayFixture, daemon_id: string, namespace = NAMESPACE): World {
  const w = world();
  at.machines.connect(namespace, daemon_id, (request) => w.daemon.fetch(request));
  return w;
}

/** A form as a browser posts it from a page of the relay. */
export function form(
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): RequestInit {
  return { method: "POST", body: new URLSearchParams(fields), headers };
}

/** The cookie that a response sets, as the browser sends it. */
export function cookieOf(response: Response): string {
  return response.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
}

/** Registers an agent at a daemon; returns its peer_id. */
export async function registerAgent(w: World, name: string, more: Record<string, unknown> = {}) {
  const body = { name, path: "/srv/shop", backend: "codex" as const, ...more };
  return (await w.call(registerPeer, { body })).peer_id;
}
