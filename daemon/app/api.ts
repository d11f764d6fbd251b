/** Builds the daemon's API: callers, the guard, routes, `/ws`, MCP and the relay client. */

import { type Call, client } from "kit/http/client.ts";
import { VERSION } from "kit/core/version.ts";
import { Problem } from "protocol/problems.ts";
import { BodyLimiter } from "kit/http/body_limiter.ts";
import type { Contract } from "kit/http/contract.ts";
import type { Caller, Route, RouteGuard } from "kit/http/route.ts";
import { serve } from "kit/http/serve.ts";
import type { RequestHead } from "kit/net/tunnel/frames.ts";
import { Actors } from "../api/callers/acting_for.ts";
import { Callers } from "../api/callers/callers.ts";
import { CallingPeers } from "../api/callers/calling_peers.ts";
import { commandLineRoutes } from "../api/command_lines.ts";
import { authorizeMachine, authorizeTunnel, Guard } from "../api/guard.ts";
import { Idempotency } from "../api/idempotency.ts";
import { identifyByHeaders } from "../api/mcp/identify.ts";
import { LazyMcp } from "../api/mcp/routes.ts";
import { PairedDevices } from "../api/pages/devices.ts";
import { Pages } from "../api/pages/pages.ts";
import { PhoneAddresses } from "../api/pages/phone_addresses.ts";
import { CAPABILITIES, RelayClient, type TunnelHandler } from "../api/relay/relay_client.ts";
import {
  answerTunnelRequest,
  DEVICE_HEADER,
  RequestScheduler,
} from "../api/relay/tunnel_requests.ts";
import { SocketConnections } from "../api/ws/connections.ts";
import type { AnswerMachine } from "../machines/calls/call_server.ts";
import { Apps, type RelayAccess, RelayApi, Shares } from "../features/relay/relay_api.ts";
import type { Features } from "./compose/compose.ts";
import { isHookToken } from "./identity.ts";
import { featureRoutes, programRoutes, socketRoutes, systemRoutesOf } from "./routes.ts";
import { defineGauges } from "../api/events/gauges.ts";
import { unlessMissing } from "kit/host/file_errors.ts";

/** Where the daemon listens; the port is undefined before that. */
interface ListenAddress {
  port: number | undefined;
}

export type Api = ReturnType<typeof openApi>;

export function openApi(features: Features) {
  const { ctx, platform: { runCommandLine, send }, shutdownSignal } = features;
  const address: ListenAddress = { port: undefined };
  const callers = openCallers(features, address);
  const { actors, callingPeers } = openActors(features, callers);
  const pages = new Pages(ctx);
  const devices = new PairedDevices(ctx);
  const guard = openGuard(features, { address, callers, devices, pages });
  const idempotency = new Idempotency(ctx);
  const refuseWhenShutDown = () => {
    if (shutdownSignal.aborted) throw new Problem("shutting_down", {});
  };
  const shared = sharedGuard(features, { actors, idempotency });
  const options: RouteGuard = {
    ...shared,
    admit(request) {
      guard.admit(request);
      refuseWhenShutDown();
    },
    authorize: (request, contract, remote) => guard.authorize(request, contract, remote),
  };
  const relayApi = new RelayApi({ clock: ctx.clock, relay: relayOf(features), send });
  const phoneAddresses = openPhoneAddresses(features, address, relayApi);
  const shares = new Shares({ directory: features.directory, relay: relayApi });
  const inner = featureRoutes(features, { actors, apps: new Apps(relayApi), callers, shares });
  const callAs = (guard: RouteGuard) =>
    openCall(features, address, lazily(() => serveTracked(features, inner, guard)));
  const call = callAs(options), callAsHuman = callAs(toHuman(options));
  const connections = openConnections(features, { actors, call, callAsHuman, callers, guard });
  const mcp = openMcp(features, call, callingPeers);
  const outer = [
    ...inner,
    ...socketRoutes(connections),
    ...programRoutes(features, { callers, callingPeers, devices, mcp, pages, phoneAddresses }),
    ...commandLineRoutes({ run: runCommandLine, fetch: (...request) => fetch(...request) }),
  ];
  const relayClient = openRelayClient(features);
  openGauges(features, relayClient);
  const routes = [...outer, ...systemRoutesOf(features, { devices, routes: outer, relayClient })];
  const fetch = serveTracked(features, routes, options);
  return {
    address,
    callers,
    pages,
    devices,
    guard,
    idempotency,
    bodies: shared.bodies,
    shares,
    connections,
    mcp,
    relayClient,
    ...openRemoteAccess(features, { devices, routes }, { ...shared, admit: refuseWhenShutDown }),
    routes,
    /** Calls a contract in this process, as the operator. */
    call,
    /** Answers a request; `remote` is the other end of its socket, if it has one. */
    fetch,
  };
}

/** The checks of every request, wherever it comes from. */
function sharedGuard(
  { ctx, meters }: Features,
  { actors, idempotency }: { actors: Actors; idempotency: Idempotency },
) {
  return {
    whenDurable: (options) => ctx.db.whenDurable(options),
    letAnswerLeave: () => ctx.db.letAnswerLeave(),
    checkActor: (actor, parts, verb) => actors.check(actor, parts, verb),
    idempotencyStore: idempotency,
    bodies: new BodyLimiter(ctx.clock),
    error: (error) => ctx.background.failed("A route failed", error),
    refused: (code) => meters.refused(code),
  } satisfies Omit<RouteGuard, "admit" | "authorize">;
}

/** The same guard, for requests that the daemon itself sends for the human. */
function toHuman(guard: RouteGuard): RouteGuard {
  return { ...guard, authorize: (...request) => ({ ...guard.authorize(...request), human: true }) };
}

/** Serves routes. The database closes after the last request. */
function serveTracked(
  features: Features,
  routes: readonly Route[],
  guard: RouteGuard,
): ReturnType<typeof serve> {
  const handle = serveTraced(features, routes, guard);
  const { background } = features.ctx;
  return (request, remote) => background.track(handle(request, remote));
}

/** Serves routes. With traces, each request is a span. */
function serveTraced(
  { telemetry }: Features,
  routes: readonly Route[],
  guard: RouteGuard,
): ReturnType<typeof serve> {
  if (!telemetry) return serve(routes, guard);
  const { requests } = telemetry;
  const handle = serve(routes, {
    ...guard,
    authorize(request, contract, remote) {
      requests.routed(contract.path);
      return guard.authorize(request, contract, remote);
    },
    refused(code) {
      requests.refused(code);
      guard.refused?.(code);
    },
  });
  return requests.traced(handle);
}

type Handler = (request: Request) => Promise<Response>;

/** Builds a handler at its first request, as most daemons never need it. */
function lazily(build: () => Handler): Handler {
  let handler: Handler | undefined;
  return (request) => (handler ??= build())(request);
}

function openCallers(
  { agentProcesses, config, identityLookup, platform }: Features,
  address: ListenAddress,
): Callers {
  return new Callers({
    ...platform.callers,
    local: () => ({ host: config["daemon.host"], port: address.port }),
    agentProcesses,
    identityLookup,
    processes: platform.processes,
  });
}

function openGuard(
  { config }: Features,
  { address, callers, devices, pages }: {
    address: ListenAddress;
    callers: Callers;
    devices: PairedDevices;
    pages: Pages;
  },
): Guard {
  return new Guard({
    host: config["daemon.host"],
    allowed_hosts: config["daemon.allowed_hosts"],
    auth_token: config["daemon.auth_token"]?.reveal(),
    port: () => address.port,
    isOwnUser: (remote) => callers.isOwnUser(remote),
    pageOf: (request) => pages.of(request),
    deviceOf: (request) => devices.of(request),
    hasCode: () => devices.hasCode,
    allow_admin: config["relay.allow_admin"],
  });
}

function openPhoneAddresses(
  { config }: Features,
  address: ListenAddress,
  relay: RelayApi,
): PhoneAddresses {
  return new PhoneAddresses({
    host: config["daemon.host"],
    port: () => address.port,
    allowed_hosts: config["daemon.allowed_hosts"],
    relay,
  });
}

function openCall({ config }: Features, address: ListenAddress, handler: Handler): Call {
  const token = config["daemon.auth_token"]?.reveal();
  const headers = token ? { authorization: `Bearer ${token}` } : undefined;
  return (contract, input) => {
    const base = `http://127.0.0.1:${address.port ?? config["daemon.port"]}`;
    return client(base, handler, headers)(contract, input);
  };
}

function openConnections(
  features: Features,
  own: { actors: Actors; call: Call; callAsHuman: Call; callers: Callers; guard: Guard },
): SocketConnections {
  const { ctx, identity } = features;
  return new SocketConnections(ctx, {
    ...features,
    ...own,
    isHookToken: (token) => isHookToken(identity, token),
  });
}

/** Finds out who calls, and in whose name. */
function openActors(
  features: Features,
  callers: Callers,
): { actors: Actors; callingPeers: CallingPeers } {
  const { asks, budgets, ctx, directory, handover, identityLookup, origins } = features;
  const { schedules, subscriptions } = features;
  const { processes } = features.platform;
  const callingPeers = new CallingPeers(ctx, { ...features, processes });
  const actors = new Actors({
    budgets,
    db: ctx.db,
    callers,
    callingPeers,
    directory,
    origins,
    identityLookup,
    makerOf: (id) => (schedules.get(id) ?? subscriptions.get(id))?.from_peer_id ?? undefined,
    recipientOf: (correlation_id) => asks.get(correlation_id)?.to_peer_id,
    drainedPeers: (receipt) => handover.recipientsOf(receipt),
  });
  return { actors, callingPeers };
}

function openMcp({ config, ctx }: Features, call: Call, callingPeers: CallingPeers): LazyMcp {
  return new LazyMcp({
    call,
    allow_admin_tools: config["daemon.mcp.allow_admin_tools"],
    onError: (error) => ctx.log.error("A tool failed", { error }),
    identify: identifyByHeaders(callingPeers),
  });
}

/** Undefined if no relay is configured. */
function relayOf({ config, identity: { daemon_id } }: Features): RelayAccess | undefined {
  const { "relay.enabled": enabled, "relay.url": url, "relay.secret": secret } = config;
  return enabled && url && secret ? { url, secret, daemon_id } : undefined;
}

/** Undefined if no relay is configured. */
function openRelayClient(features: Features): RelayClient | undefined {
  const { ctx, platform: { machine, openSocket } } = features;
  const relay = relayOf(features);
  if (!relay || !openSocket) return undefined;
  const run = ctx.ids.hex(8);
  const hello = { machine, version: VERSION, capabilities: CAPABILITIES, run };
  return new RelayClient(ctx, { ...relay, hello }, openSocket);
}

/** Answers requests that do not come over a socket. They have no Host or Origin. */
function openRemoteAccess(
  features: Features,
  { devices, routes }: { devices: PairedDevices; routes: readonly Route[] },
  options: Omit<RouteGuard, "authorize">,
): { tunnel: TunnelHandler; answerMachine: AnswerMachine } {
  const { config, ctx: { log } } = features;
  const allow_admin = config["relay.allow_admin"];
  const routesFor = (authorize: (contract: Contract, request: Request) => Caller) => {
    const guard = {
      ...options,
      authorize: (request: Request, contract: Contract) => authorize(contract, request),
    };
    return lazily(() => serveTracked(features, routes, guard));
  };
  const fromRelay = (origin: RequestHead["door"]) =>
    routesFor((contract) => authorizeTunnel(contract, { origin, allow_admin }));
  const fromMachine = (human: boolean) =>
    routesFor((contract) => authorizeMachine(contract, human));
  const fromDevice = routesFor((contract, request) => {
    const device = devices.find(request.headers.get(DEVICE_HEADER) ?? "");
    if (!device) throw new Problem("device_not_paired", {});
    return authorizeTunnel(contract, { origin: "program", allow_admin, device });
  });
  const tunnelRoutes = {
    browser: fromRelay("browser"),
    program: fromRelay("program"),
    device: fromDevice,
  };
  const [asHuman, asProgram] = [fromMachine(true), fromMachine(false)];
  const requests = new RequestScheduler();
  return {
    /** Answers requests from the relay, which has checked where they come from. */
    tunnel: (connection, request) =>
      requests.schedule(
        request.stream,
        () => void answerTunnelRequest({ tunnelRoutes, log }, connection, request),
      ),
    /** Answers requests from machines that may administer this one. */
    answerMachine: (request, { human }) => human ? asHuman(request) : asProgram(request),
  };
}

function openGauges(
  { ctx, db_path, machines, jobs, leases, limits, limitRecords, meters, sockets, telemetry }:
    Features,
  relayClient: RelayClient | undefined,
): void {
  const { clock, db } = ctx;
  db.observeCommits((took_ms) => meters.committed(took_ms));
  meters.add((metrics) =>
    defineGauges(metrics, {
      db,
      now: () => clock.now(),
      started_at: clock.now(),
      sockets: () => sockets.size,
      jobs: () => jobs.counts(),
      limits: () => limits.counts(),
      limitUse: () => limitRecords.highestUse(),
      leases: () => leases.counts(),
      walBytes: () => sizeOf(`${db_path}-wal`),
      memory: () => Deno.memoryUsage(),
      bus: () => machines?.figures() ?? { status: "disabled", waiting: 0 },
      tunnel: () => relayClient?.report().status ?? "disabled",
      spans: () => ({ ...telemetry?.exporter.counts }),
      deno: Deno.version.deno,
    })
  );
}

/** 0 for a file that does not exist: the last connection removes the log. */
function sizeOf(path: string): number {
  return unlessMissing(() => Deno.statSync(path).size) ?? 0;
}
