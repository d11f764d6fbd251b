/** Every route of the daemon, and what each needs to know of the house. */

import { type Contract, VERSION } from "kit/http/contract.ts";
import { Refused } from "kit/http/client.ts";
import { equalSecrets } from "kit/core/equal_secrets.ts";
import { Problem } from "kit/core/problem.ts";
import type { Caller, Route } from "kit/http/route.ts";
import { agentRoutes } from "../features/hooks/routes.ts";
import type { Daemon } from "./daemon.ts";
import { ackAsk, declineAsk, openAsk } from "../features/asks/contract.ts";
import { manyRoutes } from "../features/asks/many/routes.ts";
import { answerAsk } from "../features/asks/questions/contract.ts";
import { questionRoutes } from "../features/asks/questions/routes.ts";
import { askRoutes, mannersOf } from "../features/asks/routes.ts";
import { attachmentRoutes } from "../features/messages/attachments/routes.ts";
import { notifyPeer } from "../features/notifications/contract.ts";
import { messageRoutes } from "../features/messages/log/routes.ts";
import { notificationRoutes } from "../features/notifications/routes.ts";
import { deliveryRoutes } from "../features/messages/routes.ts";
import type { Verb } from "../features/messages/websocket/frames.ts";
import type { Line, Session } from "../features/messages/websocket/session.ts";
import { upgrade, Wire } from "../api/ws/protocol.ts";
import type { Health } from "../api/events/contract.ts";
import { systemRoutes } from "../api/events/routes.ts";
import { greet, isPlugin } from "./handshake.ts";
import { pageRoutes } from "../api/pages/routes.ts";
import { inboxRoutes } from "../features/inbox/routes.ts";
import { jobRoutes } from "../features/jobs/routes.ts";
import { scheduleRoutes } from "../features/schedules/routes.ts";
import { mcpRoutes } from "../api/mcp/routes.ts";
import { migrations } from "./migrations/migrations.ts";
import { lifeRoutes } from "../features/lifecycle/routes.ts";
import { shareRoutes } from "../features/shares/routes.ts";
import { peerRoutes } from "../features/peers/routes.ts";
import { isLive } from "../features/peers/directory.ts";
import * as peerRows from "../features/peers/store.ts";
import { spawnRoutes } from "../features/spawn/routes.ts";
import { peerDoors, spawnDoors } from "./spawn_wiring.ts";
import { CAPABILITIES } from "../api/relay/relay_client.ts";

/** Whatever names its sender, and where to look for that name. */
interface Spoken {
  readonly from_peer: string;
  readonly circle?: string | undefined;
}

export function routesOf(daemon: Daemon): Route[] {
  const { directory, ground, callers } = daemon;
  const provenHuman = (caller: Caller, headers: Headers) => callers.isHuman(caller, headers);
  const senderOf = ({ from_peer, circle }: Spoken) => {
    const { peer_id, name } = directory.sender(from_peer, { circle });
    return peer_id ?? name;
  };
  const findId = (argument: string) => directory.find(argument).peer_id;
  const routes: Route[] = [
    ...peerRoutes(daemon.peers, directory, daemon.registry, peerDoors(daemon)),
    ...lifeRoutes(daemon.lives),
    ...shareRoutes(daemon.shares),
    ...spawnRoutes(daemon.spawns, daemon.restarts, spawnDoors(daemon, provenHuman)),
    ...askRoutes(daemon.asks, {
      provenHuman,
      mayAnswer: (correlation_id, caller) =>
        daemon.questions.refuseAgents(correlation_id, () => callers.isAgent(caller)),
      senderOf,
      stateOf: (id) => daemon.delivery.held(id)?.state,
      who: (argument) => directory.sender(argument),
      everKnown: (argument) => peerRows.address(ground.db, argument) ?? directory.find(argument),
      onPane: (pane_id, tmux_socket) => directory.onPane(pane_id, tmux_socket),
      router: daemon.router,
    }),
    ...questionRoutes(
      daemon.questions,
      mannersOf({ provenHuman }),
      (caller) => callers.isAgent(caller),
    ),
    ...manyRoutes(daemon.many, mannersOf({ provenHuman }), { senderOf }),
    ...notificationRoutes(daemon, { provenHuman, senderOf }),
    ...deliveryRoutes(daemon, {
      findId,
      onPane: (pane_id, tmux_socket) => directory.onPane(pane_id, tmux_socket),
      upgrade: (request, caller) => upgradeFor(daemon, request, caller),
    }),
    ...messageRoutes(daemon.messages),
    ...inboxRoutes(daemon.inbox, { isAgent: (caller) => callers.isAgent(caller) }),
    ...jobRoutes(daemon.jobs, { provenHuman, senderOf, findId }),
    ...scheduleRoutes(daemon.schedules, { provenHuman, senderOf }),
    ...attachmentRoutes(daemon.attachments),
    ...programRoutes(daemon),
    ...systemRoutes({
      clock: ground.clock,
      events: ground.events,
      meters: daemon.meters,
      version: VERSION,
      health: () => health(daemon),
      contracts: (): Contract[] => routes.map(({ contract }) => contract),
      signal: daemon.ending,
      dashboard: () => daemon.surfaces.dashboard(),
    }),
  ];
  return routes;
}

/** Routes for those who are known by their process: browsers, hooks, and agents that use tools. */
function programRoutes(daemon: Daemon): Route[] {
  const { directory, ground, callers } = daemon;
  return [
    ...pageRoutes({
      ground,
      pages: daemon.pages,
      humanName: () => directory.human()?.name,
      isPerson: (caller, headers) => callers.mayOpenPage(caller, headers),
      isOwnUser: ({ remote }) => callers.provable && callers.isOwnUser(remote),
      isAgent: (caller) => callers.isAgent(caller),
    }),
    ...agentRoutes(daemon.agents, {
      holdsHookToken: (token) => holdsHookToken(daemon, token),
      provenOf: (named, caller) => callers.provenOf(named, caller),
      sessionOf: (socket, pane_id) => daemon.outside.sessionOf(socket, pane_id),
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
function upgradeFor(daemon: Daemon, request: Request, caller: Caller): Response {
  const upgrades = request.headers.get("upgrade")?.toLowerCase() === "websocket";
  const may_prove = upgrades && daemon.gate.has_token;
  if (!caller.authorized && !may_prove) throw new Problem("unauthorized", {});
  if (!upgrades) throw new Problem("upgrade_required", {});
  const { strangers, callers } = daemon;
  const stranger = !caller.authorized && !callers.isOwnUser(caller.remote);
  if (stranger && strangers.full) throw new Problem("unauthorized", {});
  let leave = () => {};
  return upgrade(request, (line) => {
    if (stranger) leave = strangers.enter();
    return wire(daemon, line, { ...caller, proved: () => leave() });
  }, () => leave());
}

function holdsHookToken({ identity }: Daemon, token: string | undefined): boolean {
  return token !== undefined && equalSecrets(token, identity.hook_token);
}

/** Who opens a socket; `proved` hears of the token that its first frame brought. */
interface Entering extends Pick<Caller, "authorized" | "remote"> {
  readonly proved?: () => void;
}

/** A wire on a line: the `/ws` protocol, with the house behind it. */
export function wire(
  daemon: Daemon,
  line: Line,
  { authorized, remote, proved }: Entering,
): Wire {
  const { peers, delivery, directory } = daemon;
  return new Wire(
    daemon.ground,
    {
      version: VERSION,
      authorized: (connect) => {
        if (daemon.gate.isToken(connect.auth_token)) {
          proved?.();
          return "caller";
        }
        const hooks = holdsHookToken(daemon, connect.auth_token);
        return hooks && isPlugin(connect) ? "reporter" : undefined;
      },
      greet: (connect) => greet(daemon, connect, { remote }),
      attach: (session) => attach(daemon, session),
      detach: (session) => detach(daemon, session),
      receipt: (session, ack) => delivery.receipt(session, ack),
      turn: (peer_id, turn) => {
        if (!directory.isOpen(peer_id)) return; // It may just have been retired.
        peers.turn(peer_id, turn, "websocket");
      },
      chat: (peer_id, said) => {
        if (directory.isOpen(peer_id)) peers.chat(peer_id, said);
      },
      verb: (session, verb) => {
        const { correlation_id } = verb;
        if (typeof correlation_id === "string") {
          daemon.questions.refuseAgents(correlation_id, () => daemon.callers.isAgent({ remote }));
        }
        return doVerb(daemon, session, verb);
      },
    },
    line,
    { authorized },
  );
}

/** A socket is evidence of its peer. One that takes no messages is replayed none (spec 3). */
function attach(daemon: Daemon, session: Session): void {
  const { ground, peers, sockets, delivery, directory, surfaces } = daemon;
  const { peer_id, identity: { surface } } = session;
  ground.db.transact(() => {
    if (!directory.isOpen(peer_id)) {
      return ground.db.afterCommit(() => session.end("peer_retired"));
    }
    peers.sighted(peer_id, "websocket");
    session.held = !isLive(directory.resolve(peer_id)); // Its execution is being replaced.
    if (!directory.resolve(peer_id).addressable) {
      delivery.dropQueue(peer_id, "peer_not_addressable");
    }
    sockets.attach(session, () => surface && surfaces.welcome({ ...surface, peer_id }));
  });
}

/** A lost socket takes a peer offline, unless it can be reached another way. */
function detach(daemon: Daemon, session: Session): void {
  const { ground, peers, sockets, directory, courier, surfaces } = daemon;
  const { peer_id, identity: { surface } } = session;
  ground.db.transact(() => {
    if (!sockets.detach(session)) return;
    if (surface) surfaces.left(surface.name);
    if (!directory.isOpen(peer_id)) return;
    if (directory.resolve(peer_id).role !== "human" && !directory.reachable(peer_id)) {
      const cause = { reason: "socket_closed", source: "websocket", terminal: false };
      peers.offline(peer_id, cause);
    }
    ground.db.afterCommit(() => courier.wake(peer_id));
  });
}

const VERBS = {
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
async function doVerb(
  daemon: Daemon,
  { peer_id, held, identity: { surface } }: Session,
  { type, request_id: _, idempotency_key, traceparent, ...fields }: Verb,
): Promise<Record<string, unknown>> {
  if (held && daemon.directory.isOpen(peer_id)) daemon.peers.sighted(peer_id, "websocket");
  // What a surface answers, the human has answered on it.
  const for_human = surface && (surface.bridge || type === "answer");
  const human = for_human ? daemon.directory.human()?.peer_id : undefined;
  const body: unknown = { ...fields, from_peer: human ?? peer_id };
  const headers = {
    ...(idempotency_key !== undefined && { "idempotency-key": idempotency_key }),
    ...(traceparent !== undefined && { traceparent }),
  };
  try {
    return await daemon.call(VERBS[type as keyof typeof VERBS], { body, headers } as never);
  } catch (fault) {
    if (fault instanceof Refused) return fault.problem;
    throw fault;
  }
}

const NO_RELAY = {
  status: "disabled",
  url: null,
  last_connected_at: null,
  last_error: null,
} as const;

function health({ ground, outside, identity, started_at, uplink }: Daemon): Health {
  return {
    status: "ok",
    version: VERSION,
    daemon_id: identity.daemon_id,
    uptime_seconds: Math.floor((ground.clock.now() - started_at) / 1000),
    pid: outside.pid,
    peers: peerRows.count(ground.db),
    schema_version: migrations.length,
    capabilities: CAPABILITIES,
    relay: uplink?.report() ?? NO_RELAY,
  };
}
