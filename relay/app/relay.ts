/** The relay's composition root: the one place that knows every room. It keeps the one heart. */

import type { Clock, Ids } from "kit/core/clock.ts";
import { VERSION } from "kit/http/contract.ts";
import { pause } from "kit/core/timeout.ts";
import type { Log } from "kit/core/log.ts";
import { Problem } from "kit/core/problem.ts";
import { type Route, route, serve } from "kit/http/route.ts";
import type { Database } from "kit/data/sqlite.ts";
import { Broken } from "kit/net/tunnel/stream.ts";
import { Address } from "../web/issuer.ts";
import { getRelayHealth } from "./contract.ts";
import { Sessions } from "../sign_in/sessions.ts";
import type { Proxy } from "../web/net/bucket.ts";
import { Intake } from "../web/net/intake.ts";
import { isLocal } from "../web/net/local.ts";
import { type OAuth, openOAuth } from "../oauth/oauth.ts";
import { openPaces } from "./rate_limits.ts";
import { Rooms } from "./compose.ts";
import { bearerNamespace } from "../web/secrets.ts";
import { Registry } from "../daemons/machines.ts";
import { Meters } from "../daemons/metrics.ts";
import { type Accept, type TunnelNeeds, tunnelRoutes } from "../daemons/routes.ts";

const BEAT_MS = 1000;
/** What goes on to a daemon as it comes is held by nobody (`kit/net/tunnel/flow.ts`). */
const STREAMED = /^\/m\//;
/** Remote MCP and its OAuth live here; without an issuer they are not there (contract 9). */
const OAUTH = /^\/(mcp$|oauth\/|\.well-known\/)/;

/** Everything outside of the relay: production passes the real ones, tests their own. */
export interface RelayOutside {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly proxy: Proxy;
  /** The issuer and its database; without them remote MCP is off. */
  readonly oauth: { readonly issuer: string; readonly db: Database } | undefined;
  /** The socket of a request that asks for one. */
  readonly accept: Accept;
}

export class Relay implements AsyncDisposable {
  readonly outside: RelayOutside;
  readonly address: Address;
  readonly machines: Registry;
  readonly meters: Meters;
  readonly sessions: Sessions;
  readonly oauth: OAuth | undefined;
  readonly rooms: Rooms;
  readonly started_at: number;
  readonly #intake: Intake;
  /** Answers a request; `remote` is the other end of its socket, where there is one. */
  readonly fetch: (request: Request, remote?: Deno.NetAddr) => Promise<Response>;
  readonly #ending = new AbortController();

  constructor(outside: RelayOutside) {
    this.outside = outside;
    const { clock, ids, log, oauth: named } = outside;
    this.started_at = clock.now();
    this.#intake = new Intake(clock);
    const address = this.address = new Address(named?.issuer);
    const machines = this.machines = new Registry({
      clock,
      log,
      asked: (outcome, took_ms) => this.meters.asked(outcome, took_ms),
    });
    this.meters = new Meters(() => {
      const { size: daemons, requests, held_bytes } = this.machines;
      return { daemons, requests, held_bytes };
    });
    const hasMachine = (namespace: string) => machines.list(namespace).length > 0;
    const sessions = this.sessions = new Sessions({ clock, ids, address, hasMachine });
    const { registrations, consents, exchanges, dials, addressOf, ...paces } = openPaces(outside);
    const needs = { clock, ids, log, address, sessions, machines };
    this.oauth = named && openOAuth({ ...needs, ...named, registrations, consents, exchanges });
    const oauth = named && this.oauth && { issuer: named.issuer, tokens: this.oauth.tokens };
    this.rooms = new Rooms({ ...needs, paces, oauth });
    const answer = serve(routesOf(this, { dials, addressOf }), {
      admit: (request) => {
        if (this.ending.aborted) throw new Problem("shutting_down", {});
        const is_off = !named && OAUTH.test(new URL(request.url).pathname);
        if (is_off) throw new Problem("oauth_disabled", {});
      },
      authorize: (_request, _contract, remote) => ({
        remote,
        human: false,
        authorized: true,
        holds_token: false,
      }),
      durable: () => undefined,
      // What breaks as its caller leaves is nobody's fault, and callers leave whenever they like.
      fault: (fault, { signal }) =>
        log[signal.aborted ? "debug" : "error"]("A route failed", { fault }),
    });
    this.fetch = async (request, remote) => {
      if (!request.body || STREAMED.test(new URL(request.url).pathname)) {
        return await answer(request, remote);
      }
      using reading = this.#intake.begin(request, addressOf(request, remote));
      return await answer(reading.request, remote);
    };
  }

  /** Aborts as the relay goes down. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** Beats once a second until the relay ends. */
  async run(): Promise<void> {
    const { clock, log } = this.outside;
    for (let due = clock.now() + BEAT_MS; !this.ending.aborted; due += BEAT_MS) {
      await pause(clock, Math.max(0, due - clock.now()), this.ending);
      if (this.ending.aborted) return;
      due = Math.max(due, clock.now() - BEAT_MS);
      try {
        this.beat();
      } catch (fault) {
        log.error("A beat failed", { fault });
      }
    }
  }

  /** What happens with time, in every room. */
  beat(): void {
    const now = this.outside.clock.now();
    this.machines.beat(now);
    this.sessions.beat(now);
    this.rooms.beat(now);
    this.#intake.beat(now);
  }

  /** A connection broke under its answer: where a machine or a reader left, that is no fault. */
  broke(fault: unknown): Response {
    if (!(fault instanceof Broken)) this.outside.log.error("A connection failed", { fault });
    return new Response(null, { status: 500 });
  }

  /** Takes no new work, ends what is under way, and tells the daemons. */
  goDown(): void {
    this.#ending.abort();
    this.rooms.goDown();
    this.machines.endAll("going_away");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.goDown();
    await this.rooms[Symbol.asyncDispose]();
  }
}

/** Every room's routes, in one list. */
function routesOf(relay: Relay, dialling: Pick<TunnelNeeds, "dials" | "addressOf">): Route[] {
  const { machines, meters, address, outside, sessions } = relay;
  return [
    route(getRelayHealth, () => health(relay)),
    ...tunnelRoutes({
      machines,
      meters,
      sessions,
      bearerOf: bearerNamespace,
      isFromOurPage: (request) => address.isFromOurPage(request),
      isLocal: ({ headers }, remote) => !remote || isLocal(remote.hostname, headers),
      ...dialling,
      accept: outside.accept,
      signal: relay.ending,
    }),
    ...relay.rooms.routes,
    ...relay.oauth?.routes ?? [],
  ];
}

function health({ outside, started_at, machines, oauth }: Relay) {
  return {
    status: "ok" as const,
    version: VERSION,
    uptime_seconds: Math.floor((outside.clock.now() - started_at) / 1000),
    daemons: machines.size,
    oauth: oauth ? "enabled" as const : "disabled" as const,
  };
}
