/** Every route of the daemon, and the functions that the routes need from other features. */

import { Refusal } from "kit/core/problem.ts";
import { VERSION } from "kit/core/version.ts";
import type { Contract } from "kit/http/contract.ts";
import { type Caller, rawRoute, type Route, route } from "kit/http/route.ts";
import type { Actors } from "../api/callers/acting_for.ts";
import type { Callers } from "../api/callers/callers.ts";
import type { CallingPeers } from "../api/callers/calling_peers.ts";
import { callerRoutes } from "../api/callers/routes.ts";
import type { Health } from "protocol/api/events.ts";
import type { Meters } from "../api/events/metrics.ts";
import { systemRoutes } from "../api/events/routes.ts";
import { shortIdRoutes } from "../api/short_ids.ts";
import { type LazyMcp, mcpRoutes } from "../api/mcp/routes.ts";
import type { PairedDevices } from "../api/pages/devices.ts";
import type { Pages } from "../api/pages/pages.ts";
import type { PhoneAddresses } from "../api/pages/phone_addresses.ts";
import { pageRoutes } from "../api/pages/routes.ts";
import { CAPABILITIES, type RelayClient } from "../api/relay/relay_client.ts";
import type { SocketConnections } from "../api/ws/connections.ts";
import { Backend } from "protocol/agents/contract.ts";
import { selftestRoutes } from "../features/agents/selftest/routes.ts";
import { uidOf } from "../host/processes.ts";
import { askRoutes } from "../features/asks/routes.ts";
import { machineRoutes } from "../machines/routes.ts";
import { RemoteInbox } from "../machines/calls/inbox_home.ts";
import { RemoteChanges } from "../machines/calls/remote_changes.ts";
import { callRoutes } from "../machines/calls/routes.ts";
import { interruptElsewhere } from "../machines/calls/peer_routes.ts";
import { fileRoutes } from "../features/files/routes.ts";
import { blameRoutes } from "../features/blame/routes.ts";
import { policyRoutes } from "../features/origins/routes.ts";
import { budgetRoutes } from "../features/budgets/routes.ts";
import { handoffRoutes } from "../features/handoffs/routes.ts";
import { hookRoutes } from "../features/hooks/routes.ts";
import { inboxRoutes } from "../features/inbox/routes.ts";
import { pushRoutes } from "../features/inbox/push/routes.ts";
import { jobRoutes } from "../features/jobs/routes.ts";
import { jointCheckRoutes } from "../features/joint_checks/routes.ts";
import { leaseRoutes } from "../features/leases/routes.ts";
import { limitRoutes } from "../features/limits/routes.ts";
import { lifecycleRoutes } from "../features/lifecycle/routes.ts";
import { Traceparent, webSocket } from "protocol/messages/contract.ts";
import type { CallerChecks } from "../features/messages/request_context.ts";
import { attachmentRoutes, messageRoutes } from "../features/messages/routes.ts";
import { notificationRoutes } from "../features/notifications/routes.ts";
import { peerRoutes } from "../features/peers/routes.ts";
import type { Directory } from "../features/peers/directory.ts";
import * as peerRows from "../features/peers/store.ts";
import { scheduleRoutes } from "../features/schedules/routes.ts";
import type { Apps, Shares } from "../features/relay/relay_api.ts";
import { relayRoutes } from "../features/relay/routes.ts";
import { spawnRoutes } from "../features/spawn/routes.ts";
import { subscriptionRoutes } from "../features/subscriptions/routes.ts";
import { digestRoutes } from "../features/digest/routes.ts";
import { recallRoutes } from "../features/recall/routes.ts";
import { reviewRoutes } from "../features/reviews/routes.ts";
import { RemoteReviews } from "../machines/calls/remote_reviews.ts";
import { changesRoutes } from "../features/changes/routes.ts";
import { type ReaderOf, readersOf } from "../features/transcripts/readers.ts";
import { transcriptRoutes } from "../features/transcripts/routes.ts";
import { wakeRoutes } from "../features/wakes/routes.ts";
import type { Features } from "./compose/compose.ts";
import { settingsInForce } from "./config_view.ts";
import { getConfig } from "protocol/api/config.ts";
import { isHookToken, restoredAt } from "./identity.ts";
import { migrations } from "./migrations/migrations.ts";

/** Parts of the API that the routes of features use. */
interface ApiParts {
  readonly actors: Actors;
  readonly apps: Apps;
  readonly callers: Callers;
  readonly shares: Shares;
}

/** The routes of the features. */
export function featureRoutes(
  features: Features,
  { actors, apps, callers, shares }: ApiParts,
): Route[] {
  const { directory, transcripts } = features;
  const isProvenHuman = (caller: Caller, headers: Headers) => callers.isHuman(caller, headers);
  const readerOf = readersOf(features, {
    isProvenHuman,
    isSender: (process, caller) => callers.compare(process, caller) === "itself",
  });
  const checks = callerChecksOf(callers, features, isProvenHuman);
  return [
    ...openPeerRoutes(features, { actors, callers, isProvenHuman }),
    ...lifecycleRoutes(features, {
      isProvenHuman,
      async callerOf(from_peer, caller, headers) {
        const { isHuman, peer_id } = readerOf(from_peer, caller, headers);
        const isOnOtherMachine = caller.via === "machine";
        const proved = await actors.certifiedPeer(headers) ?? peer_id;
        return { isHuman, isOnOtherMachine, peer_id: proved };
      },
      elsewhere: (route) =>
        interruptElsewhere(route, { calls: features.calls?.client, directory, isProvenHuman }),
    }),
    ...machineRoutes({
      daemon_id: features.identity.daemon_id,
      machines: features.machines,
      bus_fault: features.platform.bus_fault,
    }),
    ...callRoutes({ calls: features.calls?.client, isProvenHuman }),
    ...relayRoutes({ apps, shares }),
    ...spawnRoutes(features, {
      isProvenHuman,
      requestContextOf: checks.requestContextOf,
      refusalOfCopy: (source, from_peer, { caller, headers }) =>
        transcripts.refusalOfCopy(source, readerOf(from_peer, caller, headers)),
      refusalOfResume: (earlier, from_peer, { caller, headers }) =>
        transcripts.refusalOfSession(earlier, readerOf(from_peer, caller, headers)),
    }),
    ...handoffRoutes(features, { ...checks, readerOf }),
    ...askRoutes(features, checks),
    ...wakeRoutes(features, checks),
    ...notificationRoutes(features, checks),
    ...messageRoutes(features),
    ...policyRoutes(features),
    ...budgetRoutes({ ...features, count: () => features.sessionReading.readAll() }),
    ...inboxRoutes(features, checks, new RemoteInbox({ calls: features.calls?.client, directory })),
    ...pushRoutes(features.pushes, { isProvenHuman }),
    ...limitRoutes(features, { isProvenHuman }),
    ...jobRoutes(features, checks),
    ...scheduleRoutes(features, checks),
    ...subscriptionRoutes(features, checks),
    ...workRoutes(features, { callers, checks, readerOf }),
    ...attachmentRoutes(features.attachments),
    ...shortIdRoutes({ db: features.ctx.db, messages: features.messages }),
    ...selftestRoutes(features.platform.knownFailures),
  ];
}

/** Routes of what agents did, use and hold. */
function workRoutes(
  features: Features,
  { callers, checks, readerOf }: {
    readonly callers: Callers;
    readonly checks: CallerChecks;
    readonly readerOf: ReaderOf;
  },
): Route[] {
  const { calls, config, ctx, platform, sessionReading, usageReports } = features;
  return [
    ...transcriptRoutes(features, readerOf, (query, reader) => usageReports.report(query, reader)),
    ...changesRoutes(features, readerOf, new RemoteChanges(calls?.client)),
    ...jointCheckRoutes(features, readerOf),
    ...blameRoutes(features, readerOf),
    ...reviewRoutes(features, {
      ...checks,
      readerOf,
      elsewhere: new RemoteReviews(calls?.client),
    }),
    ...fileRoutes({ ctx, sessionReading, isReadable: config.transcripts !== "off" }, readerOf),
    ...leaseRoutes({ ...features, ...platform, db: ctx.db }, {
      callerOf: readerOf,
      isProcess: (pid, caller) => callers.isProcess(pid, caller),
      isAgent: (caller) => callers.isAgent(caller),
      isOfUser: (pid) => uidOf(pid) === platform.callers.uid,
    }),
    ...recallRoutes(features),
    ...digestRoutes(features),
  ];
}

function openPeerRoutes(
  features: Features,
  { actors, callers, isProvenHuman }: Pick<ApiParts, "actors" | "callers"> & {
    readonly isProvenHuman: Callers["isHuman"];
  },
): Route[] {
  const { registrationLocations, restarts } = features;
  return peerRoutes(features, {
    restartStatusOf: (peer_id) => restarts.block(peer_id),
    placeOf: (given) => registrationLocations.placeOf(given),
    isProcess: (pid, caller) => callers.isProcess(pid, caller),
    isPeerProcess: (pid, caller) => callers.isPeerProcess(pid, caller),
    isAnotherPeer: (peer, caller) => actors.isAnother(peer, caller),
    isProvenHuman,
    mustBeTrustedSocket: (given) => registrationLocations.mustBeTrustedSocket(given),
  });
}

/** The name of the person who calls, for the frame of a message in a peer's name. */
function personOf(directory: Directory): string {
  const human = directory.human();
  return human ? `@${human.name}` : "a person";
}

/** Where a person acts. */
function surfaceOf({ device_id, human, via }: Caller): string {
  if (device_id !== undefined) return "device";
  if (via === "relay" || via === "machine") return via;
  return human || via === "page" ? "dashboard" : "terminal";
}

function callerChecksOf(
  callers: Callers,
  { directory, telemetry }: Features,
  isProvenHuman: Callers["isHuman"],
): CallerChecks {
  return {
    requestContextOf(caller, headers) {
      const given = headers.get("traceparent");
      const received = given === null ? undefined : Traceparent.parse(given);
      const traceparent = telemetry ? telemetry.requests.continued(received) : received;
      const { unverified } = caller;
      const proven_human = isProvenHuman(caller, headers);
      const sent_by = proven_human ? personOf(directory) : undefined;
      const { via } = caller;
      const is_elsewhere = via === "relay" || via === "machine";
      const surface = proven_human ? surfaceOf(caller) : undefined;
      const calling_peer = () => callers.peerOf(caller);
      const origin = { via, surface, calling_peer };
      return { proven_human, unverified, is_elsewhere, sent_by, traceparent, ...origin };
    },
    isHumanAnswer: (caller, headers, surface) => callers.isHumanAnswer(caller, headers, surface),
    whileConnected: (caller, signal, work) => callers.whileConnected(caller, signal, work),
  };
}

export function socketRoutes(connections: SocketConnections): Route[] {
  return [rawRoute(webSocket, (request, caller) => connections.upgrade(request, caller))];
}

/** Routes that identify callers by their process: pages, hooks and MCP tools. */
export function programRoutes(
  features: Features,
  { callers, callingPeers, devices, mcp, pages, phoneAddresses }: {
    callers: Callers;
    callingPeers: CallingPeers;
    devices: PairedDevices;
    mcp: LazyMcp;
    pages: Pages;
    phoneAddresses: PhoneAddresses;
  },
): Route[] {
  const { config, ctx, delivery, directory, identity, platform } = features;
  const hooks = hookRoutes({
    hookEvents: features.hookEvents,
    wakeHooks: features.wakeHooks,
    holdsHookToken: (token) => isHookToken(identity, token),
    provenProcesses: (claimed, caller) => callers.provenProcesses(claimed, caller),
    hasHungUp: (caller) => callers.hasHungUp(caller),
    whileConnected: (caller, signal, work) => callers.whileConnected(caller, signal, work),
    paneOf: (socket, pane_id) => platform.paneOf(socket, pane_id),
    circle_boundary: config["daemon.circle_boundary"],
  });
  const tools = config["daemon.mcp.enabled"]
    ? mcpRoutes(mcp, {
      isPeerProcess: (pid, caller) => callers.isPeerProcess(pid, caller),
      senderOf: (caller) => callers.senderOf(caller),
      hasTools: (pid) => platform.toolClients.has(pid),
      gotTools: (pid) => {
        platform.toolClients.add(pid);
        delivery.dispatchWaiting();
      },
    })
    : [];
  const countedHooks = hooks.map((route) => countCalls(route, features.meters));
  const name = platform.machines?.membership.name ?? platform.machine;
  const machine = { daemon_id: identity.daemon_id, name };
  return [
    ...pageRoutes({ callers, ctx, devices, directory, machine, pages, phoneAddresses }),
    ...callerRoutes({ callers, callingPeers }),
    ...countedHooks,
    ...tools,
  ];
}

/** Counts the calls of a hook's route by agent. The agent in a path may be any text. */
function countCalls({ contract, run }: Route, meters: Meters): Route {
  return {
    contract,
    async run(request, caller, guard) {
      const agent = Backend.safeParse(request.param()["agent"]).data ?? "unknown";
      try {
        const response = await run(request, caller, guard);
        meters.hookCalled(agent, "answered");
        return response;
      } catch (error) {
        meters.hookCalled(agent, error instanceof Refusal ? "refused" : "failed");
        throw error;
      }
    },
  };
}

/** Routes of health, events, metrics and the OpenAPI document, which includes these routes. */
export function systemRoutesOf(
  features: Features,
  { devices, routes, relayClient }: {
    devices: PairedDevices;
    routes: readonly Route[];
    relayClient: RelayClient | undefined;
  },
): Route[] {
  const { config, ctx, identity, meters, platform, shutdownSignal, surfaces } = features;
  const started_at = ctx.clock.boottime();
  const restored = restoredAt(ctx.db);
  const health = (): Health => {
    const storage = ctx.db.failures.report();
    return {
      status: storage.status === "ok" ? "ok" : "degraded",
      version: VERSION,
      daemon_id: identity.daemon_id,
      uptime_seconds: Math.floor((ctx.clock.boottime() - started_at) / 1000),
      pid: platform.pid,
      peers: peerRows.count(ctx.db),
      schema_version: migrations.length,
      capabilities: CAPABILITIES,
      storage,
      ...(restored && { restored }),
      relay: relayClient?.report() ?? NO_RELAY,
      ...(features.machines && { bus: features.machines.health() }),
    };
  };
  const system: Route[] = systemRoutes({
    clock: ctx.clock,
    events: ctx.events,
    meters,
    health,
    queued: () => features.deliveryAudit.queued(),
    databaseBytes: () => ctx.db.bytes,
    contracts: (): Contract[] => [...routes, ...system].map(({ contract }) => contract),
    signal: shutdownSignal,
    endOfDevice: (device_id) => devices.endOf(device_id),
    surfaces,
  });
  system.push(route(getConfig, () => settingsInForce({ config, ...platform.settings })));
  return system;
}

const NO_RELAY = {
  status: "disabled",
  url: null,
  last_connected_at: null,
  last_error: null,
} as const;
