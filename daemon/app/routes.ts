/** Every route of the daemon, and what each needs to know of the house. */

import { type Contract, VERSION } from "kit/http/contract.ts";
import { ApiError } from "kit/http/client.ts";
import { equalSecrets } from "kit/core/settings.ts";
import { Problem } from "kit/core/problem.ts";
import type { Caller, Route } from "kit/http/route.ts";
import { agentRoutes } from "../features/hooks/routes.ts";
import type { Daemon } from "./daemon.ts";
import { ackAsk, declineAsk, openAsk } from "../features/asks/contract.ts";
import { multiAskRoutes } from "../features/asks/many/routes.ts";
import { answerAsk } from "../features/asks/questions/contract.ts";
import { questionRoutes } from "../features/asks/questions/routes.ts";
import { askRoutes, requestContextReader } from "../features/asks/routes.ts";
import { attachmentRoutes } from "../features/messages/attachments/routes.ts";
import { notifyPeer } from "../features/notifications/contract.ts";
import { messageRoutes } from "../features/messages/log/routes.ts";
import { notificationRoutes } from "../features/notifications/routes.ts";
import { deliveryRoutes } from "../features/messages/routes.ts";
import type { Verb } from "../features/messages/websocket/frames.ts";
import type { Connection, Session } from "../features/messages/websocket/session.ts";
import { ProtocolSession, upgrade } from "../api/ws/protocol_session.ts";
import type { Health } from "../api/events/contract.ts";
import { systemRoutes } from "../api/events/routes.ts";
import { handshake, isPlugin } from "./handshake.ts";
import { pageRoutes } from "../api/pages/routes.ts";
import { inboxRoutes } from "../features/inbox/routes.ts";
import { jobRoutes } from "../features/jobs/routes.ts";
import { scheduleRoutes } from "../features/schedules/routes.ts";
import { mcpRoutes } from "../api/mcp/routes.ts";
import { migrations } from "./migrations/migrations.ts";
import { lifecycleRoutes } from "../features/lifecycle/routes.ts";
import { shareRoutes } from "../features/shares/routes.ts";
import { peerRoutes } from "../features/peers/routes.ts";
import { isLive } from "../features/peers/directory.ts";
import * as peerRows from "../features/peers/store.ts";
import { spawnRoutes } from "../features/spawn/routes.ts";
import { peerRoutesDeps, spawnRoutesDeps } from "./spawn_wiring.ts";
import { CAPABILITIES } from "../api/relay/relay_client.ts";

/** Whatever names its sender, and where to look for that name. */
interface SenderFields {
  readonly from_peer: string;
  readonly circle?: string | undefined;
}

export function routesOf(daemon: Daemon): Route[] {
  const { directory, ctx, callers } = daemon;
  const isProvenHuman = (caller: Caller, headers: Headers) => callers.isHuman(caller, headers);
  const senderOf = ({ from_peer, circle }: SenderFields) => {
    const { peer_id, name } = directory.sender(from_peer, { circle });
    return peer_id ?? name;
  };
  const findPeerId = (argument: string) => directory.find(argument).peer_id;
  const routes: Route[] = [
    ...peerRoutes(daemon.peers, directory, daemon.certificates, peerRoutesDeps(daemon)),
    ...lifecycleRoutes(daemon.lifecycle),
    ...shareRoutes(daemon.shares),
    ...spawnRoutes(daemon.spawns, daemon.restarts, spawnRoutesDeps(daemon, isProvenHuman)),
    ...askRoutes(daemon.asks, {
      isProvenHuman,
      mayAnswer: (correlation_id, caller) =>
        daemon.questions.refuseAgents(correlation_id, () => callers.isAgent(caller)),
      senderOf,
      stateOf: (id) => daemon.delivery.findMessage(id)?.state,
      resolveSender: (argument) => directory.sender(argument),
      findEverKnown: (argument) => peerRows.address(ctx.db, argument) ?? directory.find(argument),
      findByPane: (pane_id, tmux_socket) => directory.findByPane(pane_id, tmux_socket),
      router: daemon.router,
    }),
    ...questionRoutes(
      daemon.questions,
      requestContextReader({ isProvenHuman }),
      (caller) => callers.isAgent(caller),
    ),
    ...multiAskRoutes(daemon.multiAsks, requestContextReader({ isProvenHuman }), { senderOf }),
    ...notificationRoutes(daemon, { isProvenHuman, senderOf }),
    ...deliveryRoutes(daemon, {
      findPeerId,
      findByPane: (pane_id, tmux_socket) => directory.findByPane(pane_id, tmux_socket),
      upgrade: (request, caller) => upgradeSocket(daemon, request, caller),
    }),
    ...messageRoutes(daemon.messages),
    ...inboxRoutes(daemon.inbox, { isAgent: (caller) => callers.isAgent(caller) }),
    ...jobRoutes(daemon.jobs, { isProvenHuman, senderOf, findPeerId }),
    ...scheduleRoutes(daemon.schedules, { isProvenHuman, senderOf }),
    ...attachmentRoutes(daemon.attachments),
    ...programRoutes(daemon),
    ...systemRoutes({
      clock: ctx.clock,
      events: ctx.events,
      meters: daemon.meters,
      version: VERSION,
      health: () => health(daemon),
      contracts: (): Contract[] => routes.map(({ contract }) => contract),
      signal: daemon.shutdownSignal,
      dashboard: () => daemon.surfaces.dashboard(),
    }),
  ];
  return routes;
}

/** Routes for those who are known by their process: browsers, hooks, and agents that use tools. */
function programRoutes(daemon: Daemon): Route[] {
  const { directory, ctx, callers } = daemon;
  return [
    ...pageRoutes({
      ctx,
      pages: daemon.pages,
      humanName: () => directory.human()?.name,
      isPerson: (caller, headers) => callers.mayOpenPage(caller, headers),
      isOwnUser: ({ remote }) => callers.canIdentify && callers.isOwnUser(remote),
      isAgent: (caller) => callers.isAgent(caller),
    }),
    ...agentRoutes(daemon.agents, {
      holdsHookToken: (token) => holdsHookToken(daemon, token),
      provenProcesses: (named, caller) => callers.provenProcesses(named, caller),
      sessionOf: (socket, pane_id) => daemon.platform.sessionOf(socket, pane_id),
      circleOf: (socket, pane_id) => daemon.spawns.circleOf(socket, pane_id),
    }),
    ...(daemon.config["daemon.mcp.enabled"]
      ? mcpRoutes({
        mcp: () => daemon.mcp(),
        isProcess: (pid, caller) => callers.isProcess(pid, caller),
      })
      : []),
  ];
}

/** A caller that has not shown the token may still bring it in its first frame. */
function upgradeSocket(daemon: Daemon, request: Request, caller: Caller): Response {
  const upgrades = request.headers.get("upgrade")?.toLowerCase() === "websocket";
  const may_authenticate = upgrades && daemon.guard.has_token;
  if (!caller.authorized && !may_authenticate) throw new Problem("unauthorized", {});
  if (!upgrades) throw new Problem("upgrade_required", {});
  const { unauthenticatedSockets, callers } = daemon;
  const isUnauthenticated = !caller.authorized && !callers.isOwnUser(caller.remote);
  if (isUnauthenticated && unauthenticatedSockets.full) throw new Problem("unauthorized", {});
  let release = () => {};
  return upgrade(request, (line) => {
    if (isUnauthenticated) release = unauthenticatedSockets.add();
    return openProtocolSession(daemon, line, { ...caller, onAuthenticated: () => release() });
  }, () => release());
}

function holdsHookToken({ identity }: Daemon, token: string | undefined): boolean {
  return token !== undefined && equalSecrets(token, identity.hook_token);
}

/** Who opens a socket; `proved` hears of the token that its first frame brought. */
interface SocketCaller extends Pick<Caller, "authorized" | "remote"> {
  readonly onAuthenticated?: () => void;
}

/** A wire on a line: the `/ws` protocol, with the house behind it. */
export function openProtocolSession(
  daemon: Daemon,
  line: Connection,
  { authorized, remote, onAuthenticated }: SocketCaller,
): ProtocolSession {
  const { peers, delivery, directory } = daemon;
  return new ProtocolSession(
    daemon.ctx,
    {
      version: VERSION,
      authorized: (connect) => {
        if (daemon.guard.isToken(connect.auth_token)) {
          onAuthenticated?.();
          return "caller";
        }
        const hooks = holdsHookToken(daemon, connect.auth_token);
        return hooks && isPlugin(connect) ? "reporter" : undefined;
      },
      handshake: (connect) => handshake(daemon, connect, { remote }),
      attach: (session) => attach(daemon, session),
      detach: (session) => detach(daemon, session),
      receipt: (session, ack) => delivery.receipt(session, ack),
      reportTurn: (peer_id, turn) => {
        if (!directory.isRegistered(peer_id)) return; // It may just have been retired.
        peers.reportTurn(peer_id, turn, "websocket");
      },
      reportChat: (peer_id, said) => {
        if (directory.isRegistered(peer_id)) peers.reportChat(peer_id, said);
      },
      verb: (session, verb) => {
        const { correlation_id } = verb;
        if (typeof correlation_id === "string") {
          daemon.questions.refuseAgents(correlation_id, () => daemon.callers.isAgent({ remote }));
        }
        return callVerb(daemon, session, verb);
      },
    },
    line,
    { authorized },
  );
}

/** A socket is evidence of its peer. One that takes no messages is replayed none (spec 3). */
function attach(daemon: Daemon, session: Session): void {
  const { ctx, peers, sockets, delivery, directory, surfaces } = daemon;
  const { peer_id, identity: { surface } } = session;
  ctx.db.transact(() => {
    if (!directory.isRegistered(peer_id)) {
      return ctx.db.afterCommit(() => session.close("peer_retired"));
    }
    peers.markSeen(peer_id, "websocket");
    session.isSuspended = !isLive(directory.resolve(peer_id)); // Its execution is being replaced.
    if (!directory.resolve(peer_id).addressable) {
      delivery.dropQueue(peer_id, "peer_not_addressable");
    }
    sockets.attach(session, () => surface && surfaces.onConnected({ ...surface, peer_id }));
  });
}

/** A lost socket takes a peer offline, unless it can be reached another way. */
function detach(daemon: Daemon, session: Session): void {
  const { ctx, peers, sockets, directory, dispatcher, surfaces } = daemon;
  const { peer_id, identity: { surface } } = session;
  ctx.db.transact(() => {
    if (!sockets.detach(session)) return;
    if (surface) surfaces.onDisconnected(surface.name);
    if (!directory.isRegistered(peer_id)) return;
    if (directory.resolve(peer_id).role !== "human" && !directory.isReachable(peer_id)) {
      const cause = { reason: "socket_closed", source: "websocket", terminal: false };
      peers.offline(peer_id, cause);
    }
    ctx.db.afterCommit(() => dispatcher.wake(peer_id));
  });
}

const VERB_CONTRACTS = {
  ask: openAsk,
  notify: notifyPeer,
  ack: ackAsk,
  decline: declineAsk,
  answer: answerAsk,
} as const;

/**
 * A verb on a socket is its route, with the session's peer as the sender. A bridge speaks for the
 * human, as a program may: nothing proves that the human spoke (contract 2).
 */
async function callVerb(
  daemon: Daemon,
  { peer_id, isSuspended, identity: { surface } }: Session,
  { type, request_id: _, idempotency_key, traceparent, ...fields }: Verb,
): Promise<Record<string, unknown>> {
  if (isSuspended && daemon.directory.isRegistered(peer_id)) {
    daemon.peers.markSeen(peer_id, "websocket");
  }
  // What a surface answers, the human has answered on it.
  const for_human = surface && (surface.bridge || type === "answer");
  const human = for_human ? daemon.directory.human()?.peer_id : undefined;
  const body: unknown = { ...fields, from_peer: human ?? peer_id };
  const headers = {
    ...(idempotency_key !== undefined && { "idempotency-key": idempotency_key }),
    ...(traceparent !== undefined && { traceparent }),
  };
  try {
    return await daemon.call(
      VERB_CONTRACTS[type as keyof typeof VERB_CONTRACTS],
      { body, headers } as never,
    );
  } catch (error) {
    if (error instanceof ApiError) return error.problem;
    throw error;
  }
}

const NO_RELAY = {
  status: "disabled",
  url: null,
  last_connected_at: null,
  last_error: null,
} as const;

function health({ ctx, platform, identity, started_at, relayClient }: Daemon): Health {
  return {
    status: "ok",
    version: VERSION,
    daemon_id: identity.daemon_id,
    uptime_seconds: Math.floor((ctx.clock.now() - started_at) / 1000),
    pid: platform.pid,
    peers: peerRows.count(ctx.db),
    schema_version: migrations.length,
    capabilities: CAPABILITIES,
    relay: relayClient?.report() ?? NO_RELAY,
  };
}
