/** The relay's composition root: creates all services and runs their periodic tasks. */

import { type Boottime, type Clock, ClockWatch, type Ids } from "kit/core/clock.ts";
import { VERSION } from "kit/core/version.ts";
import { repeat } from "kit/core/timeout.ts";
import type { Log } from "kit/core/log.ts";
import { Problem } from "protocol/problems.ts";
import { type Route, route, type RouteGuard } from "kit/http/route.ts";
import { serve } from "kit/http/serve.ts";
import type { Database } from "kit/data/sqlite.ts";
import type { RunMark } from "./run_mark.ts";
import { StreamError } from "kit/net/tunnel/stream.ts";
import { isOpenToPages, openToPages, preflightResponse } from "../web/cors.ts";
import { hostOf, OriginPolicy } from "../web/origin_policy.ts";
import { getRelayHealth } from "protocol/relay/app.ts";
import { Devices } from "../sign_in/devices.ts";
import { type PairingDeps, pairingRoutes } from "../sign_in/pairing_routes.ts";
import { Sessions } from "../sign_in/sessions.ts";
import type { Proxy } from "../web/client_address.ts";
import { ADDRESS_BODY_BYTES_MAX, BodyLimiter } from "kit/http/body_limiter.ts";
import { type OAuth, openOAuth } from "../oauth/oauth.ts";
import { openRateLimits } from "./rate_limits.ts";
import { MachineRegistry } from "../daemons/machine_registry.ts";
import { RelayMetrics } from "../daemons/metrics.ts";
import type { RelayTelemetry } from "./telemetry.ts";
import { type Accept, type TunnelDeps, tunnelRoutes } from "../daemons/routes.ts";
import { type KeyDeps, keyRoutes, machinePageRoutes } from "../sign_in/routes.ts";
import type { Mcp } from "../mcp/mcp.ts";
import { mcpRoutes, type Tokens } from "../mcp/routes.ts";
import { type ShareDeps, shareRoutes } from "../shares/routes.ts";
import { Shares } from "../shares/shares.ts";

const TICK_MS = 1000;
/** Requests whose bodies are streamed to a daemon and not held, so `BodyLimiter` ignores them. */
const STREAMED_PATHS = /^\/m\//;
/** The paths of remote MCP, OAuth and apps: they exist only with an issuer (contract 9). */
const OAUTH = /^\/(mcp\/?$|oauth\/|\.well-known\/|api\/v1\/apps(\/|$))/;

/** The parts of the outside world that the relay uses. Tests pass their own. */
interface RelayPlatform {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly proxy: Proxy;
  /** The issuer and its database. Undefined if remote MCP is switched off. */
  readonly oauth:
    | { readonly issuer: string; readonly db: Database; readonly mark?: Pick<RunMark, "renew"> }
    | undefined;
  /** Undefined without a collector of traces. */
  readonly telemetry?: RelayTelemetry | undefined;
  /** Upgrades a request to a WebSocket. */
  readonly accept: Accept;
}

export class Relay implements AsyncDisposable {
  readonly platform: RelayPlatform;
  readonly originPolicy: OriginPolicy;
  readonly machines: MachineRegistry;
  readonly metrics: RelayMetrics;
  readonly sessions: Sessions;
  readonly devices: Devices;
  readonly oauth: OAuth | undefined;
  readonly features: RelayFeatures;
  readonly #started_at: Boottime;
  readonly #clockWatch: ClockWatch<"boottime">;
  readonly #bodyLimiter: BodyLimiter;
  /** Answers a request. `remote` is the remote address of the request's socket, if it has one. */
  readonly fetch: (request: Request, remote?: Deno.NetAddr) => Promise<Response>;
  readonly #shutdown = new AbortController();

  constructor(platform: RelayPlatform) {
    this.platform = platform;
    const { clock, ids, log, oauth: oauthConfig, telemetry } = platform;
    this.#started_at = clock.boottime();
    this.#clockWatch = new ClockWatch(clock, "boottime");
    this.#bodyLimiter = new BodyLimiter(clock, { address_bytes_max: ADDRESS_BODY_BYTES_MAX });
    const originPolicy = this.originPolicy = new OriginPolicy(oauthConfig?.issuer);
    const machines = this.machines = new MachineRegistry({
      clock,
      log,
      recordRequest: (outcome, took_ms) => this.metrics.recordRequest(outcome, took_ms),
      ...(telemetry && { forward: (request, send) => telemetry.forward(request, send) }),
    });
    const spans = () => ({ ...telemetry?.exporter.counts });
    this.metrics = new RelayMetrics({ machines, spans, started_at: clock.now() });
    const hasConnectedMachine = (namespace: string) => machines.list(namespace).length > 0;
    const sessions = this.sessions = new Sessions({
      ...platform,
      originPolicy,
      hasConnectedMachine,
    });
    const devices = this.devices = new Devices({ clock, originPolicy });
    const limits = openRateLimits(platform);
    const deps = { clock, ids, log, originPolicy, sessions, devices, machines };
    this.oauth = oauthConfig &&
      openOAuth({ ...deps, ...oauthConfig, limits });
    const oauth = oauthConfig && this.oauth &&
      { issuer: oauthConfig.issuer, tokens: this.oauth.tokens };
    this.features = new RelayFeatures({ ...deps, limits, oauth });
    const handle = serve(routesOf(this, limits), this.#guard());
    const limited = async (request: Request, remote?: Deno.NetAddr) => {
      if (!request.body || STREAMED_PATHS.test(new URL(request.url).pathname)) {
        return await handle(request, remote);
      }
      using limitedBody = this.#bodyLimiter.begin(request, limits.rateLimitKeyOf(request, remote));
      return await handle(limitedBody.request, remote);
    };
    const handled = telemetry ? telemetry.requests.traced(limited) : limited;
    this.fetch = async (request, remote) => {
      const url = URL.parse(request.url);
      // With a malformed Host the URL cannot be parsed, and every later step needs it.
      if (!url) {
        this.metrics.refused("malformed_host");
        return new Problem("malformed_host", { host: hostOf(request) }).toResponse();
      }
      if (!isOpenToPages(url.pathname)) return await handled(request, remote);
      if (oauth && request.method === "OPTIONS") return preflightResponse();
      return openToPages(await handled(request, remote));
    };
  }

  get uptime_ms(): number {
    return this.platform.clock.boottime() - this.#started_at;
  }

  /** A signal that aborts at shutdown. */
  get shutdownSignal(): AbortSignal {
    return this.#shutdown.signal;
  }

  /** Calls `tick` once a second until the shutdown. */
  async run(): Promise<void> {
    const { clock, log } = this.platform;
    const signal = this.shutdownSignal;
    const delayed = (ms: number) => this.metrics.delayed(ms);
    const failed = (error: unknown) => log.error("A tick failed", { error });
    await repeat(clock, { every_ms: TICK_MS, signal, delayed, failed }, () => this.tick());
  }

  /** Runs the periodic tasks of all services. */
  tick(): void {
    const { clock } = this.platform;
    const monotonic = clock.monotonic();
    const step_ms = this.#clockWatch.stepped();
    if (step_ms !== 0) this.#clockStepped(step_ms);
    this.platform.oauth?.db.failures.tick();
    this.machines.tick(monotonic);
    this.sessions.tick();
    this.devices.tick();
    this.features.tick();
    this.#bodyLimiter.tick(monotonic);
    this.platform.telemetry?.tick(monotonic);
    this.platform.oauth?.mark?.renew();
  }

  #clockStepped(step_ms: number): void {
    const { clock, log } = this.platform;
    log.info("The clock of this machine was set", { step_seconds: Math.round(step_ms / 1000) });
    if (step_ms < 0) this.oauth?.clockSetBack(clock.now());
  }

  /** Handles an error while a response is sent. A lost machine or reader is not logged. */
  onError(error: unknown): Response {
    if (!(error instanceof StreamError)) this.platform.log.error("A connection failed", { error });
    return new Response(null, { status: 500 });
  }

  /** Refuses new requests, ends the open ones, and closes the tunnels. */
  shutDown(): void {
    this.#shutdown.abort(new Problem("shutting_down", {})); // Requests that wait get this answer.
    this.features.shutDown();
    this.machines.endAll("going_away");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.shutDown();
    await this.features[Symbol.asyncDispose]();
    await this.platform.telemetry?.close();
  }

  /** The checks before every route, and what is recorded of each. */
  #guard(): RouteGuard {
    const { log, oauth, telemetry } = this.platform;
    return {
      admit: (request) => {
        if (this.shutdownSignal.aborted) throw new Problem("shutting_down", {});
        const isOAuthPath = !oauth && OAUTH.test(new URL(request.url).pathname);
        if (isOAuthPath) throw new Problem("oauth_disabled", {});
      },
      authorize: (_request, { path }, remote) => {
        telemetry?.requests.routed(path);
        return { remote, human: false, authorized: true, holds_token: false };
      },
      whenDurable: () => undefined,
      // If the caller has aborted its request, a failure is normal.
      error: (error, { signal }) =>
        log[signal.aborted ? "debug" : "error"]("A route failed", { error }),
      refused: (code) => {
        this.metrics.refused(code);
        telemetry?.requests.refused(code);
      },
    };
  }
}

function routesOf(
  relay: Relay,
  { dials, rateLimitKeyOf }: Pick<TunnelDeps, "dials" | "rateLimitKeyOf">,
): Route[] {
  const { platform, shutdownSignal: signal } = relay;
  return [
    route(getRelayHealth, () => health(relay)),
    ...tunnelRoutes({ ...platform, ...relay, dials, rateLimitKeyOf, signal }),
    ...relay.features.routes,
    ...relay.oauth?.routes ?? [],
  ];
}

function health({ uptime_ms, machines, oauth }: Relay) {
  return {
    status: "ok" as const,
    version: VERSION,
    uptime_seconds: Math.floor(uptime_ms / 1000),
    daemons: machines.size,
    oauth: oauth ? "enabled" as const : "disabled" as const,
  };
}

interface RelayFeaturesDeps
  extends
    Pick<KeyDeps, "ids" | "originPolicy" | "sessions">,
    Pick<ShareDeps, "machines">,
    Pick<PairingDeps, "devices"> {
  readonly clock: Clock;
  readonly log: Log;
  /** Undefined if remote MCP is switched off (specification 5). */
  readonly oauth: { readonly issuer: string; readonly tokens: Tokens } | undefined;
  readonly limits: KeyDeps["limits"] & ShareDeps["limits"];
}

/** The features for people, guests and apps: sign-in, shares and MCP. */
export class RelayFeatures implements AsyncDisposable {
  readonly shares: Shares;
  readonly routes: readonly Route[];
  readonly #deps: RelayFeaturesDeps;
  #mcp: Promise<Mcp> | undefined;

  constructor(deps: RelayFeaturesDeps) {
    this.#deps = deps;
    const { clock, ids, oauth, originPolicy } = deps;
    const shares = this.shares = new Shares(clock, ids);
    const has_apps = oauth !== undefined;
    this.routes = [
      ...keyRoutes({ ...deps, has_apps }),
      ...machinePageRoutes(deps),
      ...pairingRoutes(deps),
      ...shareRoutes({ ...deps, shares }),
      ...(oauth ? mcpRoutes({ originPolicy, ...oauth, mcp: () => this.#openMcp() }) : []),
    ];
  }

  tick(): void {
    this.shares.tick();
  }

  /** Ends all shares, and with them their streams. */
  shutDown(): void {
    this.shares.endAll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.shutDown();
    await (await this.#mcp)?.[Symbol.asyncDispose]();
  }

  /** The MCP library is loaded on first use, because it is larger than the rest of the relay. */
  #openMcp(): Promise<Mcp> {
    return this.#mcp ??= import("../mcp/mcp.ts").then(({ Mcp }) => {
      const { machines, log } = this.#deps;
      const error = (error: unknown) => log.error("A remote tool failed", { error });
      return new Mcp({ machines, error });
    });
  }
}
