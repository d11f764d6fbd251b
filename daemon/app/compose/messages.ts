/** Builds the delivery of messages, their log and attachments. */

import { Ages } from "kit/core/clock.ts";
import { Attachments } from "../../features/messages/attachments/attachments.ts";
import { Delivery } from "../../features/messages/delivery.ts";
import { Dispatcher } from "../../features/messages/dispatcher.ts";
import { Handover } from "../../features/messages/handover.ts";
import { DeliveryAudit } from "../../features/messages/ledger/audit.ts";
import { Limits } from "../../features/messages/limits.ts";
import { Messages } from "../../features/messages/log/message_log.ts";
import { Receipts } from "../../features/messages/receipts.ts";
import { UrgentMessages } from "../../features/messages/urgent_messages.ts";
import { PeerRecords } from "../../features/peers/records.ts";
import { RemoteRecords } from "../../features/peers/remote/remote_records.ts";
import { DAY_MS } from "kit/core/duration.ts";
import type { Foundation } from "./foundation.ts";
import type { PeerFeatures } from "./peers.ts";

/** Peer records and the delivery of messages. */
export function openMessages(
  { config, ctx, effects, idCodec, identity, meters, platform, ports }: Foundation,
  openedPeers: PeerFeatures,
) {
  const { agentPeers, budgetNotes, directory, reachability, steps, waits } = openedPeers;
  const records = new PeerRecords(ctx, {
    daemon_id: identity.daemon_id,
    description_ttl_ms: config["daemon.description_ttl_seconds"] * 1000,
    directory,
    reachability,
    remoteRecords: new RemoteRecords(ctx, openedPeers.remotePeers),
    ports: ports.peers,
    waits,
  });
  const { hooks, markers } = platform;
  const urgentMessages = new UrgentMessages(ctx, { agentPeers, directory, hooks, markers });
  const dispatcher = new Dispatcher(ctx, steps, {
    ...openedPeers,
    ports: ports.messages,
    urgentMessages,
    noteFor: ({ peer_id, backend }) =>
      backend !== null && hooks[backend]?.context_event ? null : budgetNotes.noteFor(peer_id),
  });
  const limits = new Limits(ctx, {
    directory,
    max_per_peer: config["daemon.queue.max_per_peer"],
    hops: config["daemon.limits.hops"],
    pair_per_minute: config["daemon.limits.pair_per_minute"],
    hopsBefore: ports.messages.hopsBefore,
    reached: (limit) => meters.limitReached(limit),
  });
  const queue_ttl_ms = config["daemon.queue.ttl_seconds"] * 1000;
  const remote = { ...effects.messages, ...ports.messages };
  const holds = ports.messages;
  const parts = { ...openedPeers, dispatcher, idCodec, limits, ports: holds, remote };
  const leases = new Ages(ctx.clock);
  const queue = { leases, queue_ttl_ms };
  const delivery = new Delivery(ctx, { ...parts, ...queue, effects: effects.messages });
  const deliveryAudit = new DeliveryAudit(ctx, { directory, ports: ports.messages });
  const receipts = new Receipts(ctx, steps, effects.messages);
  const handover = new Handover(ctx, {
    delivery,
    directory,
    leases,
    ports: holds,
    receipts,
    steps,
  });
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
    history_ms,
    messages_max: config["daemon.history_messages"],
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
