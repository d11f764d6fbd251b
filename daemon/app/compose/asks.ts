/** Builds asks, questions, the human's inbox and notifications. */

import { Asks } from "../../features/asks/asks.ts";
import { MultiAsks } from "../../features/asks/multi_asks.ts";
import { Questions } from "../../features/asks/questions/questions.ts";
import { Router } from "../../features/asks/routing/router.ts";
import { Inbox } from "../../features/inbox/inbox.ts";
import { Pushes } from "../../features/inbox/push/pushes.ts";
import { InboxReplies } from "../../features/inbox/replies.ts";
import { Surfaces } from "../../features/inbox/surfaces.ts";
import { EndedTurns } from "../../features/notifications/ended_turns.ts";
import { ThreadReplies } from "../../features/notifications/threads.ts";
import { Notifications } from "../../features/notifications/notifications.ts";
import { Directory } from "../../features/peers/directory.ts";
import { pushKeysOf } from "../identity.ts";
import { HOUR_MS } from "kit/core/duration.ts";
import type { Foundation } from "./foundation.ts";
import type { MessageFeatures } from "./messages.ts";

export function openAsks(foundation: Foundation, lower: MessageFeatures) {
  const { config, ctx, effects, platform, ports, shutdownSignal, history_ms } = foundation;
  const { attachments, delivery, directory, sockets } = lower;
  const surfaces = new Surfaces(ctx, { sockets, delivery, receipts: lower.receipts });
  const pushes = new Pushes(ctx, {
    ...platform,
    keys: pushKeysOf(ctx),
    contact: config["push.contact"],
    allow_local: config["push.allow_local"],
    shutdownSignal,
  });
  const inbox = new Inbox(ctx, { directory, surfaces, pushes, history_ms });
  const shared = {
    directory,
    delivery,
    human: inbox,
    attachments,
    shutdownSignal,
    effects: effects.asks,
  };
  const ask_ttl_ms = config["daemon.ask_ttl_hours"] * HOUR_MS;
  const asks = new Asks(ctx, { ...shared, ask_ttl_ms, ports: ports.asks });
  const wait_ms_max = config["approvals.timeout_seconds"] * 1000;
  const questions = new Questions(ctx, {
    ...shared,
    asks,
    ports: ports.asks,
    waits: lower.waits,
    wait_ms_max,
  });
  const inboxReplies = new InboxReplies(ctx, { asks, inbox, questions });
  const multiAsks = new MultiAsks(ctx, { asks, directory, history_ms, ports: ports.asks });
  const router = openRouter(foundation, { asks, directory });
  const notifications = new Notifications(ctx, { attachments, delivery, directory, inbox });
  const endedTurns = new EndedTurns(ctx, notifications, ports.asks);
  const threadReplies = new ThreadReplies(ctx, asks, notifications);
  return {
    threadReplies,
    surfaces,
    pushes,
    inbox,
    inboxReplies,
    asks,
    questions,
    multiAsks,
    router,
    endedTurns,
    notifications,
  };
}

export type AskFeatures = MessageFeatures & ReturnType<typeof openAsks>;

/** The router of asks; undefined with `routing.strategy: static`. */
function openRouter(
  { config, ctx, platform, ports, shutdownSignal }: Foundation,
  { asks, directory }: { asks: Asks; directory: Directory },
): Router | undefined {
  const strategy = config["routing.strategy"];
  if (strategy === "static") return undefined;
  return new Router(ctx, {
    asks,
    directory,
    ports: ports.asks,
    send: platform.send,
    shutdownSignal,
    strategy,
    min_confidence: config["routing.min_confidence"],
    allow_service_targets: config["routing.allow_service_targets"],
    endpoint: config["routing.webhook"],
    description_ttl_seconds: config["daemon.description_ttl_seconds"],
  });
}
