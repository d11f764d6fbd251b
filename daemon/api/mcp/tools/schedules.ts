/** Tools that schedule messages: once or recurring. */

import { formatInstant } from "kit/core/local_time.ts";
import * as z from "zod";
import type { WireResponse } from "kit/http/client.ts";
import { Text } from "kit/core/schema.ts";
import { toDisplayName } from "kit/core/text.ts";
import { quotedLine } from "protocol/messages/frame_markers.ts";
import {
  cancelSchedule,
  createSchedule,
  type getSchedule,
  listSchedules,
  ScheduleKind,
  ScheduleState,
} from "protocol/schedules/contract.ts";
import { READ_HINTS, SEND_HINTS, type Tool, tool, UPDATE_HINTS } from "../tool.ts";
import { callerId, circle, idempotency_key, idempotencyHeaders, maybe, peer } from "./fields.ts";
import { charsPerText, quote, truncate } from "./quoting.ts";

/** Maximum number of schedules in one result. */
const SHOWN_MAX = 50;

const Card = z.object({
  schedule_id: z.string(),
  from_peer_name: z.string(),
  to_peer: z.string(),
  kind: ScheduleKind,
  state: ScheduleState,
  fire_at: maybe,
  cron: maybe,
  timezone: maybe,
  next_fire_at: maybe,
  last_fired_at: maybe,
  last_outcome: maybe,
  last_error: maybe,
  text: z.string(),
  truncated: z.boolean().describe("Whether the text is longer than shown here"),
});

const create = tool({
  name: "schedule_create",
  title: "Schedule a message",
  description:
    "Have a message sent to a peer later: once (fire_at), or again and again (cron). Use it when " +
    "the user asked for a reminder, a recurring report or the like. Do not use it for what can " +
    "be said now (notify_peer, ask), or to wait for a reply (wait_on_ack). It is sent in your " +
    "name, also when you are not here any more; an ask's reply is pushed to you.",
  hints: SEND_HINTS,
  trustedOnly: true,
  input: z.object({
    peer: peer.describe('A name or a peer_id, looked up when the message is due; "me": yourself'),
    message: Text,
    kind: ScheduleKind.default("notify").describe("ask: needs a reply"),
    fire_at: z.string().optional()
      .describe("2026-11-21T09:00:00+01:00, or a duration from now: 10m, in 2h, 1h30m, 2d"),
    cron: z.string().optional()
      .describe("Five fields: minute hour day month weekday; or @hourly, @daily, @weekly"),
    timezone: z.string().optional()
      .describe("The user's IANA time zone, for cron; UTC by default"),
    circle,
    idempotency_key,
  }),
  output: Card,
  async run({ peer, message, idempotency_key, ...rest }, { caller, call }) {
    const from_peer = callerId(caller);
    const body = { from_peer, to_peer: peer === "me" ? from_peer : peer, text: message, ...rest };
    const headers = idempotencyHeaders(idempotency_key);
    const created = await call(createSchedule, { body, headers });
    return {
      text: `Scheduled ${created.schedule_id} to ${created.to_peer}: ${formatTime(created)}.`,
      data: toCard(created, charsPerText(1)),
    };
  },
});

const list = tool({
  name: "schedule_list",
  title: "List scheduled messages",
  description:
    "List scheduled messages: active ones by their next fire, or those that fired, failed or " +
    "were cancelled. Do not use it for messages that were sent (search_messages), or for asks " +
    "that are open (list_asks).",
  hints: READ_HINTS,
  input: z.object({
    state: ScheduleState.default("active"),
    peer: peer.optional().describe("Only those to this peer"),
    mine: z.boolean().default(false).describe("Only those that you scheduled"),
  }),
  output: z.object({
    schedules: z.array(Card),
    left_off: z.number().describe("How many more were found but are not shown"),
  }),
  async run({ state, peer, mine }, { caller, call }) {
    const query = {
      state,
      ...(peer !== undefined && { to_peer: peer }),
      ...(mine && { from_peer: callerId(caller) }),
    };
    const found = (await call(listSchedules, { query })).schedules;
    const chars = charsPerText(Math.min(found.length, SHOWN_MAX));
    const schedules = found.slice(0, SHOWN_MAX).map((schedule) => toCard(schedule, chars));
    const left_off = found.length - schedules.length;
    const lines = schedules.map((card) => {
      const error = card.last_error ? ` Last: ${quotedLine(card.last_error)}.` : "";
      const attributes = {
        schedule: card.schedule_id,
        from: toDisplayName(card.from_peer_name),
        to: toDisplayName(card.to_peer),
      };
      return `${formatTime(card)}, ${card.kind}, ${card.state}.${error}\n${
        quote(attributes, card.text)
      }`;
    });
    if (left_off > 0) lines.push(`${left_off} more are not shown.`);
    return { text: lines.join("\n") || `No ${state} schedules.`, data: { schedules, left_off } };
  },
});

const cancel = tool({
  name: "schedule_delete",
  title: "Cancel a scheduled message",
  description:
    "Cancel a scheduled message, so that it does not fire again. Use it for your own, or when " +
    "the user asked for it. Do not use it for an ask that was sent.",
  hints: { ...UPDATE_HINTS, destructiveHint: true },
  trustedOnly: true,
  input: z.object({ schedule_id: z.string().min(1).describe("Such as sched-3f9c04d1a2b7") }),
  output: Card,
  async run({ schedule_id }, { call }) {
    const cancelled = await call(cancelSchedule, { params: { id: schedule_id } });
    return { text: `Cancelled ${schedule_id}.`, data: toCard(cancelled, charsPerText(1)) };
  },
});

export const SCHEDULE_TOOLS: readonly Tool[] = [create, list, cancel];

type ShownSchedule = WireResponse<typeof getSchedule>;

function formatTime(
  { fire_at, cron, timezone, next_fire_at }: Pick<
    ShownSchedule,
    "fire_at" | "cron" | "timezone" | "next_fire_at"
  >,
): string {
  if (cron === null) return `at ${formatInstant(fire_at)}`;
  return `"${cron}" in ${timezone}${
    next_fire_at ? `, next at ${formatInstant(next_fire_at)}` : ""
  }`;
}

function toCard(schedule: ShownSchedule, chars: number): z.input<typeof Card> {
  return { ...schedule, ...truncate(schedule.text, chars) };
}
