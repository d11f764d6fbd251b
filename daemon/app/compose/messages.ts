/** Builds the registry of peers, the delivery of messages, and the message log. */

import { Ages } from "kit/core/clock.ts";
import { AgentProcesses } from "../../api/callers/agent_processes.ts";
import { AgentTransports } from "../../features/agents/transports.ts";
import * as askRows from "../../features/asks/store.ts";
import { itemOfAsk } from "../../features/inbox/store.ts";
import { inboxItemFrame } from "../../features/inbox/surfaces.ts";
import { Attachments } from "../../features/messages/attachments/attachments.ts";
import { Delivery } from "../../features/messages/delivery.ts";
import { Dispatcher } from "../../features/messages/dispatch/dispatcher.ts";
import { Handover } from "../../features/messages/handover.ts";
import { DeliveryAudit } from "../../features/messages/ledger/audit.ts";
import { Steps } from "../../features/messages/ledger/steps.ts";
import { Limits } from "../../features/messages/limits/limits.ts";
import { Messages } from "../../features/messages/log/message_log.ts";
import { PeerReachability } from "../../features/messages/reachability.ts";
import { Receipts } from "../../features/messages/receipts.ts";
import { UrgentMessages } from "../../features/messages/urgent/urgent_messages.ts";
import { Sockets } from "../../features/messages/websocket/sockets.ts";
import { AgentPeers } from "../../features/peers/agent_peers.ts";
import { PeerChanges } from "../../features/peers/changes.ts";
import { Directory } from "../../features/peers/directory.ts";
import { IdentityLookup } from "../../features/peers/identity/identity_lookup.ts";
import { Peers } from "../../features/peers/peers.ts";
import { ProcessWatcher } from "../../features/peers/process_watcher.ts";
import { PeerSettingsService } from "../../features/peers/groups/settings.ts";
import { PeerProfiles } from "../../features/peers/profiles.ts";
import { PeerRecords } from "../../features/peers/records.ts";
import { RemotePeers } from "../../features/peers/remote/remote_peers.ts";
import { RemoteRecords } from "../../features/peers/remote/remote_records.ts";
import { Superseded } from "../../features/peers/identity/superseded.ts";
import { Subagents } from "../../features/peers/subagents/subagents.ts";
import { PeerTurns } from "../../features/peers/turns.ts";
import { expectedRegistrations } from "../../features/spawn/expected_registration.ts";
import { isSuperseded } from "../../features/spawn/restarts/replacement.ts";
import { Reactions } from "../reactions.ts";
import { DAY_MS } from "kit/core/duration.ts";
import type { Foundation } from "./foundation.ts";

/** The processes of agents, and the sockets and transports that reach peers. */
function openTransports({ ctx, meters, platform }: Foundation, reactions: Reactions) {
  const steps = new Steps(ctx, meters, reactions.table);
  return {
    agentProcesses: new AgentProcesses({
      db: ctx.db,
      processes: platform.processes,
      isUserFacing: (pid) => platform.callers.isUserFacing(pid),
      pid: platform.pid,
    }),
    transports: new AgentTransports(platform.adapters(), platform.knownFailures),
    steps,
    sockets: new Sockets(ctx, steps, {
      inboxItemFrame: (item_id, surface) => inboxItemFrame(ctx.db, item_id, surface),
    }),
  };
}

/** The registry of peers, and the sockets and transports that reach them. */
export function openPeers(foundation: Foundation, reactions: Reactions) {
  const { config, ctx, identity, missingPanes, platform } = foundation;
  const { machine, processes } = platform;
  const lower = openTransports(foundation, reactions);
  const directory = new Directory(ctx, {
    daemon_id: identity.daemon_id,
    machine: platform.federation?.membership.name ?? machine,
    ...directorySettings(config),
  });
  const remotePeers = new RemotePeers(ctx);
  const agentPeers = new AgentPeers(ctx, machine);
  const reachability = new PeerReachability(ctx, { ...lower, agentPeers, missingPanes });
  const superseded = new Superseded();
  const changes = new PeerChanges(ctx, reactions.table);
  const shared = {
    changes,
    circle_boundary: config["daemon.circle_boundary"],
    directory,
    machine,
    peerIds: platform.peerIds(identity.daemon_id),
    processes,
    reachability,
    reactions: reactions.table,
  };
  const peers = new Peers(ctx, {
    ...shared,
    superseded,
    expectedRegistration: expectedRegistrations({ db: ctx.db, terminals: platform.terminals }),
    isSuperseded: (peer_id, agent_pid) => isSuperseded(ctx.db, peer_id, agent_pid),
  });
  const profiles = new PeerProfiles(ctx, changes, peers);
  const turns = new PeerTurns(ctx, { ...shared, peers });
  return {
    ...lower,
    agentPeers,
    directory,
    identityLookup: new IdentityLookup(ctx.db, {
      ...shared,
      mayBeAgent: (pid) => lower.agentProcesses.mayBeAgent(pid),
    }),
    remotePeers,
    reachability,
    superseded,
    peers,
    processWatcher: new ProcessWatcher(ctx, { ...shared, peers }),
    profiles,
    peerSettings: new PeerSettingsService(ctx, changes, profiles),
    subagents: new Subagents(ctx, { ...shared, peers, turns }),
    turns,
  };
}

export type PeerFeatures = ReturnType<typeof openPeers>;

/** Peer records and the delivery of messages. */
export function openMessages(
  { config, ctx, idCodec, identity, meters, platform }: Foundation,
  openedPeers: PeerFeatures,
  reactions: Reactions,
) {
  const { db } = ctx;
  const { agentPeers, directory, peers, reachability, sockets, steps, transports } = openedPeers;
  const records = new PeerRecords(ctx, {
    daemon_id: identity.daemon_id,
    description_ttl_ms: config["daemon.description_ttl_seconds"] * 1000,
  }, {
    directory,
    reachability,
    remoteRecords: new RemoteRecords(ctx, openedPeers.remotePeers),
    pending: (peer_id) => askRows.pendingOf(db, peer_id),
    pendingOfAll: () => askRows.pendingOfAll(db),
  });
  const { hooks, markers } = platform;
  const urgentMessages = new UrgentMessages(ctx, { agentPeers, directory, hooks, markers });
  const dispatcher = new Dispatcher(ctx, steps, {
    agentPeers,
    directory,
    peers,
    reachability,
    transports,
    urgentMessages,
  });
  const limits = new Limits(ctx, directory, {
    max_per_peer: config["daemon.queue.max_per_peer"],
    hops: config["daemon.limits.hops"],
    pair_per_minute: config["daemon.limits.pair_per_minute"],
    hopsBefore: (correlation_id) => reactions.table.hopsBefore(correlation_id),
    reached: (limit) => meters.limitReached(limit),
  });
  const queue_ttl_ms = config["daemon.queue.ttl_seconds"] * 1000;
  const parts = { dispatcher, idCodec, limits, remote: reactions.table, sockets, steps };
  const leases = new Ages(ctx.clock);
  const delivery = new Delivery(ctx, { ...parts, leases, queue_ttl_ms });
  const deliveryAudit = new DeliveryAudit(ctx, {
    directory,
    remote: reactions.table,
    isInInbox: (correlation_id) => itemOfAsk(db, correlation_id) !== undefined,
  });
  const receipts = new Receipts(ctx, steps, reactions.table);
  const handover = new Handover(ctx, { delivery, directory, leases, receipts, steps });
  return { records, dispatcher, delivery, deliveryAudit, receipts, handover, urgentMessages };
}

/** The message log and attachments. */
export function openMessageLog(
  { config, ctx, idCodec, platform, shutdownSignal, history_ms }: Foundation,
  { directory }: PeerFeatures,
) {
  const messages = new Messages(ctx, {
    idCodec,
    resolve: (argument) => directory.resolveAnywhere(argument),
    retention: { history_ms, messages_max: config["daemon.history_messages"] },
    shutdownSignal,
  });
  const attachments = new Attachments(ctx, {
    files: platform.files,
    limits: {
      file_bytes_max: config["daemon.attachments.file_bytes_max"],
      total_bytes_max: config["daemon.attachments.total_bytes_max"],
      ttl_ms: config["daemon.attachments.ttl_days"] * DAY_MS,
    },
    shutdownSignal,
  });
  return { messages, attachments };
}

export type MessageFeatures =
  & PeerFeatures
  & ReturnType<typeof openMessages>
  & ReturnType<typeof openMessageLog>;

function directorySettings(config: Foundation["config"]) {
  return {
    human_home: config["mesh.bus.human_home"],
    shared_circles: config["mesh.bus.allow"],
  };
}
