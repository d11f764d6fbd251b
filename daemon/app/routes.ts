/** Every route of the daemon, and the functions that the routes need from other features. */

import { type Contract, VERSION } from "kit/http/contract.ts";
import { type Caller, rawRoute, type Route } from "kit/http/route.ts";
import type { Callers } from "../api/callers/callers.ts";
import type { Health } from "../api/events/contract.ts";
import { systemRoutes } from "../api/events/routes.ts";
import type { LazyMcp } from "../api/mcp/lazy_mcp.ts";
import { mcpRoutes } from "../api/mcp/routes.ts";
import type { Pages } from "../api/pages/pages.ts";
import { pageRoutes } from "../api/pages/routes.ts";
import { CAPABILITIES, type RelayClient } from "../api/relay/relay_client.ts";
import type { SocketConnections } from "../api/ws/connections.ts";
import { multiAskRoutes } from "../features/asks/many/routes.ts";
import { questionRoutes } from "../features/asks/questions/routes.ts";
import { askRoutes, requestContextReader } from "../features/asks/routes.ts";
import { hookRoutes } from "../features/hooks/routes.ts";
import { inboxRoutes } from "../features/inbox/routes.ts";
import { jobRoutes } from "../features/jobs/routes.ts";
import { lifecycleRoutes } from "../features/lifecycle/routes.ts";
import { attachmentRoutes } from "../features/messages/attachments/routes.ts";
import { webSocket } from "../features/messages/contract.ts";
import { deliveryRoutes, messageRoutes } from "../features/messages/routes.ts";
import { notificationRoutes } from "../features/notifications/routes.ts";
import { peerRoutes } from "../features/peers/routes.ts";
import * as peerRows from "../features/peers/store.ts";
import { scheduleRoutes } from "../features/schedules/routes.ts";
import { shareRoutes } from "../features/shares/routes.ts";
import type { Shares } from "../features/shares/shares.ts";
import { spawnRoutes } from "../features/spawn/routes.ts";
import type { Features } from "./compose/compose.ts";
import { isHookToken } from "./identity.ts";
import { migrations } from "./migrations/migrations.ts";

interface SenderFields {
  readonly from_peer: string;
  readonly circle?: string | undefined;
}

/** The routes of the features. */
export function featureRoutes(
  features: Features,
  { callers, shares }: { callers: Callers; shares: Shares },
): Route[] {
  const { agentPeers, asks, directory, registrationLocations, questions, restarts, spawns } =
    features;
  const isProvenHuman = (caller: Caller, headers: Headers) => callers.isHuman(caller, headers);
  const isAgent = (caller: Caller) => callers.isAgent(caller);
  const senderOf = ({ from_peer, circle }: SenderFields) =>
    directory.senderId(from_peer, { circle });
  const findPeerId = (argument: string) => directory.find(argument).peer_id;
  const findByPane = (pane_id: string, tmux_socket: string | undefined) =>
    directory.findByPane(pane_id, tmux_socket);
  const requestContextOf = requestContextReader({ isProvenHuman });
  return [
    ...peerRoutes(features, {
      restartStatusOf: (peer_id) => restarts.block(peer_id),
      windowCircleOf: (given) => registrationLocations.windowCircleOf(given),
      isProcess: (pid, caller) => callers.isProcess(pid, caller),
      mustBeTrustedSocket: (given) => registrationLocations.mustBeTrustedSocket(given),
    }),
    ...lifecycleRoutes(features),
    ...shareRoutes(shares),
    ...spawnRoutes(spawns, restarts, {
      isProvenHuman,
      senderOf: ({ from_peer }) => directory.senderId(from_peer),
      findForkSource: (argument, circle) =>
        agentPeers.mustGetRecord(directory.find(argument, { circle }).peer_id),
    }),
    ...askRoutes(asks, {
      isProvenHuman,
      mayAnswer: (correlation_id, caller) =>
        questions.refuseAgents(correlation_id, () => isAgent(caller)),
      senderOf,
      stateOf: (id) => features.delivery.findMessage(id)?.state,
      resolveSender: (argument) => directory.sender(argument),
      findEverKnown: (argument) => directory.address(argument) ?? directory.find(argument),
      findByPane,
      router: features.router,
    }),
    ...questionRoutes(questions, requestContextOf, isAgent),
    ...multiAskRoutes(features.multiAsks, requestContextOf, { senderOf }),
    ...notificationRoutes(features, { isProvenHuman, senderOf }),
    ...deliveryRoutes(features, { findPeerId, findByPane }),
    ...messageRoutes(features.messages),
    ...inboxRoutes({ inbox: features.inbox, replies: features.inboxReplies, isAgent }),
    ...jobRoutes(features.jobs, { isProvenHuman, senderOf, findPeerId }),
    ...scheduleRoutes(features.schedules, { isProvenHuman, senderOf }),
    ...attachmentRoutes(features.attachments),
  ];
}

export function socketRoutes(connections: SocketConnections): Route[] {
  return [rawRoute(webSocket, (request, caller) => connections.upgrade(request, caller))];
}

/** Routes that identify callers by their process: pages, hooks and MCP tools. */
export function programRoutes(
  features: Features,
  { callers, mcp, pages }: { callers: Callers; mcp: LazyMcp; pages: Pages },
): Route[] {
  const { config, ctx, directory, identity, platform, spawns } = features;
  const pageRoutesOf = pageRoutes({
    ctx,
    pages,
    humanName: () => directory.human()?.name,
    isPerson: (caller, headers) => callers.mayOpenPage(caller, headers),
    isOwnUser: ({ remote }) => callers.canIdentify && callers.isOwnUser(remote),
    isAgent: (caller) => callers.isAgent(caller),
  });
  const hooks = hookRoutes({
    hookEvents: features.hookEvents,
    wakeHooks: features.wakeHooks,
    holdsHookToken: (token) => isHookToken(identity, token),
    provenProcesses: (claimed, caller) => callers.provenProcesses(claimed, caller),
    sessionOf: (socket, pane_id) => platform.sessionOf(socket, pane_id),
    circleOf: (socket, pane_id) => spawns.circleOf(socket, pane_id),
  });
  const tools = config["daemon.mcp.enabled"]
    ? mcpRoutes({
      mcp: () => mcp.get(),
      isProcess: (pid, caller) => callers.isProcess(pid, caller),
    })
    : [];
  return [...pageRoutesOf, ...hooks, ...tools];
}

/** Routes of health, events, metrics and the OpenAPI document, which includes these routes. */
export function systemRoutesOf(
  features: Features,
  { routes, relayClient }: {
    routes: readonly Route[];
    relayClient: RelayClient | undefined;
  },
): Route[] {
  const { ctx, identity, meters, platform, shutdownSignal, surfaces } = features;
  const started_at = ctx.clock.now();
  const health = (): Health => ({
    status: "ok",
    version: VERSION,
    daemon_id: identity.daemon_id,
    uptime_seconds: Math.floor((ctx.clock.now() - started_at) / 1000),
    pid: platform.pid,
    peers: peerRows.count(ctx.db),
    schema_version: migrations.length,
    capabilities: CAPABILITIES,
    relay: relayClient?.report() ?? NO_RELAY,
  });
  const system: Route[] = systemRoutes({
    clock: ctx.clock,
    events: ctx.events,
    meters,
    version: VERSION,
    health,
    contracts: (): Contract[] => [...routes, ...system].map(({ contract }) => contract),
    signal: shutdownSignal,
    dashboard: () => surfaces.dashboard(),
  });
  return system;
}

const NO_RELAY = {
  status: "disabled",
  url: null,
  last_connected_at: null,
  last_error: null,
} as const;
