/** Builds the daemon's API: callers, the guard, routes, `/ws`, MCP and the relay client. */

import { type Call, client } from "kit/http/client.ts";
import { VERSION } from "kit/http/contract.ts";
import { Problem } from "kit/core/problem.ts";
import { type Route, type RouteGuard, serve } from "kit/http/route.ts";
import type { RequestHead } from "kit/net/tunnel/frames.ts";
import { Callers } from "../api/callers/callers.ts";
import { CallingPeers } from "../api/callers/calling_peers.ts";
import { UnauthenticatedSockets } from "../api/callers/unauthenticated_sockets.ts";
import { Guard } from "../api/guard.ts";
import { Idempotency } from "../api/idempotency.ts";
import { identifyByHeaders } from "../api/mcp/identify.ts";
import { LazyMcp } from "../api/mcp/lazy_mcp.ts";
import { Pages } from "../api/pages/pages.ts";
import { CAPABILITIES, RelayClient, type TunnelHandler } from "../api/relay/relay_client.ts";
import { authorizeTunnel } from "../api/relay/tunnel_guard.ts";
import { answerTunnelRequest, RequestScheduler } from "../api/relay/tunnel_requests.ts";
import { SocketConnections } from "../api/ws/connections.ts";
import { Handshake } from "../api/ws/handshake.ts";
import { Shares } from "../features/shares/shares.ts";
import type { Features } from "./compose/compose.ts";
import { isHookToken } from "./identity.ts";
import { featureRoutes, programRoutes, socketRoutes, systemRoutesOf } from "./routes.ts";

/** Where the daemon listens; the port is undefined before that. */
export interface ListenAddress {
  port: number | undefined;
}

export type Api = ReturnType<typeof openApi>;

export function openApi(features: Features) {
  const { ctx, shutdownSignal } = features;
  const address: ListenAddress = { port: undefined };
  const callers = openCallers(features, address);
  const pages = new Pages(ctx);
  const guard = openGuard(features, { address, callers, pages });
  const idempotency = new Idempotency(ctx);
  const refuseWhenShutDown = () => {
    if (shutdownSignal.aborted) throw new Problem("shutting_down", {});
  };
  const shared = {
    whenDurable: () => ctx.db.whenDurable(),
    idempotencyStore: idempotency,
    error: (error: unknown) => ctx.log.error("A route failed", { error }),
  };
  const options: RouteGuard = {
    ...shared,
    admit(request) {
      guard.admit(request);
      refuseWhenShutDown();
    },
    authorize: (request, contract, remote) => guard.authorize(request, contract, remote),
  };
  const shares = openShares(features);
  const inner = featureRoutes(features, { callers, shares });
  const call = openCall(features, address, lazily(() => serve(inner, options)));
  const connections = openConnections(features, { call, callers, guard });
  const mcp = openMcp(features, call);
  const outer = [
    ...inner,
    ...socketRoutes(connections),
    ...programRoutes(features, { callers, mcp, pages }),
  ];
  const relayClient = openRelayClient(features);
  const routes = [...outer, ...systemRoutesOf(features, { routes: outer, relayClient })];
  const tunnel = openTunnel(features, routes, { ...shared, admit: refuseWhenShutDown });
  return {
    address,
    callers,
    pages,
    guard,
    idempotency,
    shares,
    connections,
    mcp,
    relayClient,
    /** Answers requests from the relay. */
    tunnel,
    routes,
    /** Calls a contract in this process, as the operator. */
    call,
    /** Answers a request; `remote` is the other end of its socket, if it has one. */
    fetch: serve(routes, options),
  };
}

type Handler = (request: Request) => Promise<Response>;

/** Builds a handler at its first request, as most daemons never need it. */
function lazily(build: () => Handler): Handler {
  let handler: Handler | undefined;
  return (request) => (handler ??= build())(request);
}

function openCallers(
  { agentProcesses, config, platform }: Features,
  address: ListenAddress,
): Callers {
  return new Callers({
    ...platform.callers,
    local: () => ({ host: config["daemon.host"], port: address.port }),
    agents: () => agentProcesses.all(),
    parentOf: (pid) => platform.processes.parentOf(pid),
  });
}

function openGuard(
  { config }: Features,
  { address, callers, pages }: { address: ListenAddress; callers: Callers; pages: Pages },
): Guard {
  return new Guard({
    host: config["daemon.host"],
    allowed_hosts: config["daemon.allowed_hosts"],
    auth_token: config["daemon.auth_token"]?.reveal(),
    port: () => address.port,
    isOwnUser: (remote) => callers.isOwnUser(remote),
    pageOf: (request) => pages.of(request),
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
  { call, callers, guard }: { call: Call; callers: Callers; guard: Guard },
): SocketConnections {
  const {
    certificates,
    ctx,
    directory,
    identity,
    peers,
    registrationLocations,
    platform,
    surfaces,
  } = features;
  const handshake = new Handshake({
    callers,
    certificates,
    directory,
    peers,
    registrationLocations,
    sessionOf: (socket, pane_id) => platform.sessionOf(socket, pane_id),
    surfaces,
  });
  return new SocketConnections(ctx, {
    ...features,
    call,
    callers,
    guard,
    handshake,
    isHookToken: (token) => isHookToken(identity, token),
    unauthenticated: new UnauthenticatedSockets(),
  });
}

function openMcp(features: Features, call: Call): LazyMcp {
  const { certificates, config, ctx, directory, platform, transports } = features;
  const { processes } = platform;
  const calling = new CallingPeers(ctx, { certificates, directory, processes, transports });
  return new LazyMcp({
    call,
    allow_admin_tools: config["daemon.mcp.allow_admin_tools"],
    onError: (error) => ctx.log.error("A tool failed", { error }),
    identify: identifyByHeaders({
      peerOfCall: (evidence) => Promise.resolve(calling.ofCall(evidence)),
      identifiesCalls: (backend) => transports.identifiesCalls(backend),
      peerOfProcess: (pid) => Promise.resolve(calling.ofProcess(pid)),
      peerOfCertificate: (peer_id, certificate) => calling.ofCertificate(peer_id, certificate),
    }),
  });
}

function openShares({ config, ctx, directory, identity, platform }: Features): Shares {
  const { "relay.enabled": enabled, "relay.url": url, "relay.secret": secret } = config;
  const { daemon_id } = identity;
  const relay = enabled && url && secret
    ? { url, secret: secret.reveal(), daemon_id, send: platform.send }
    : undefined;
  return new Shares({
    clock: ctx.clock,
    relay,
    resolve: (argument) => directory.find(argument),
  });
}

/** Undefined if no relay is configured. */
function openRelayClient({ config, ctx, identity, platform }: Features): RelayClient | undefined {
  const { "relay.enabled": enabled, "relay.url": url, "relay.secret": secret } = config;
  if (!enabled || !url || !secret || !platform.openSocket) return undefined;
  const { daemon_id } = identity;
  const hello = { machine: platform.machine, version: VERSION, capabilities: CAPABILITIES };
  return new RelayClient(ctx, { url, secret, daemon_id, hello }, platform.openSocket);
}

/** Answers requests from the tunnel. They have no Host or Origin: the relay checked both. */
function openTunnel(
  { config, ctx }: Features,
  routes: readonly Route[],
  options: Omit<RouteGuard, "authorize">,
): TunnelHandler {
  const allow_admin = config["relay.allow_admin"];
  const routesFor = (origin: RequestHead["door"]) =>
    lazily(() =>
      serve(routes, {
        ...options,
        authorize: (_request, contract) => authorizeTunnel(contract, { origin, allow_admin }),
      })
    );
  const tunnelRoutes = { browser: routesFor("browser"), program: routesFor("program") };
  const requests = new RequestScheduler();
  return (connection, request) =>
    requests.schedule(
      request.stream,
      () => void answerTunnelRequest({ tunnelRoutes, log: ctx.log }, connection, request),
    );
}
