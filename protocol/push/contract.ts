/** Schemas and routes of web pushes: the devices that get them, and what devices report. */

import * as z from "zod";
import { Ok } from "kit/http/contract.ts";
import { byId, contract, nullableString } from "protocol/contract.ts";
import { Instant, shortText } from "kit/core/schema.ts";
import { REPORTS } from "protocol/push/payload.ts";
import { pushMachine } from "protocol/push/states.ts";

/** Maximum devices that get pushes. A person has fewer. */
export const SUBSCRIPTIONS_MAX = 20;

const topics = {
  questions: z.boolean().describe("Asks and questions that need an answer"),
  approvals: z.boolean().describe("Questions for permission to use a tool"),
  done: z.boolean().describe("Replies, reports and notices, which need no answer"),
};

/** A browser that gets pushes. Its address and its keys are never shown. */
export const PushSubscriptionRecord = z.object({
  subscription_id: z.string(),
  /** The paired device whose session it is; null for other sessions. */
  device_id: nullableString,
  name: z.string(),
  user_agent: nullableString,
  /** Host of the push service. */
  service: z.string(),
  via: z.enum(["daemon", "relay"]).describe("Where the browser subscribed"),
  ...topics,
  created_at: Instant,
  /** The last push that the push service took. */
  used_at: Instant.nullable(),
  ended_at: Instant.nullable(),
  end_reason: nullableString.describe("Why it gets no more pushes; null while it does"),
  /** The newest push. */
  last: z.object({
    push_id: z.string(),
    state: z.enum(pushMachine.states),
    reason: nullableString,
    at: Instant,
  }).nullable(),
}).meta({ id: "PushSubscription" });
export type PushSubscriptionRecord = z.output<typeof PushSubscriptionRecord>;

const PERSON = ["human_not_proven"] as const;
const route = { access: "caller", tunnel: "open" } as const;

export const listPush = contract({
  ...route,
  id: "push.list",
  method: "GET",
  path: "/push",
  summary: "The devices that get pushes, and the key with which a browser subscribes; for a person",
  returns: z.object({
    public_key: z.string().describe("The `applicationServerKey` (RFC 8292), in base64url"),
    subscriptions: z.array(PushSubscriptionRecord),
    subscriptions_max: z.int(),
  }),
  fails: PERSON,
});

export const subscribePush = contract({
  ...route,
  id: "push.subscribe",
  method: "POST",
  path: "/push/subscriptions",
  summary: "Send pushes to a browser from now on; the same endpoint again updates its settings",
  body: z.object({
    endpoint: z.string().max(2048),
    keys: z.object({ p256dh: z.string().max(255), auth: z.string().max(64) }),
    name: shortText(64, 1).optional().describe("By default, the browser and its system"),
    user_agent: shortText(512).optional(),
    replaces: z.string().max(2048).optional().describe(
      "The endpoint that the browser had before, if its push service gave it another one",
    ),
    account: z.string().max(64).optional().describe(
      "Stands for the sign-in at the relay; comes back with each push",
    ),
    questions: topics.questions.default(true),
    approvals: topics.approvals.default(true),
    done: topics.done.default(true),
  }),
  returns: PushSubscriptionRecord,
  fails: [...PERSON, "push_address_refused", "push_keys_refused", "too_many_push_subscriptions"],
});
export type SubscribePush = z.output<typeof subscribePush.body>;

export const changePush = contract({
  ...route,
  id: "push.change",
  method: "PATCH",
  path: "/push/subscriptions/:id",
  summary: "Change what a device gets, or its name",
  params: byId,
  body: z.object({
    name: shortText(64, 1).optional(),
    questions: topics.questions.optional(),
    approvals: topics.approvals.optional(),
    done: topics.done.optional(),
  }),
  returns: PushSubscriptionRecord,
  fails: [...PERSON, "unknown_push_subscription"],
});
export type ChangePush = z.output<typeof changePush.body>;

export const unsubscribePush = contract({
  ...route,
  id: "push.unsubscribe",
  method: "DELETE",
  path: "/push/subscriptions/:id",
  summary: "Send a device no more pushes, and forget it",
  params: byId,
  returns: Ok,
  fails: [...PERSON, "unknown_push_subscription"],
});

export const testPush = contract({
  ...route,
  id: "push.test",
  method: "POST",
  path: "/push/subscriptions/:id/test",
  summary: "Send a device a push that says that pushes arrive",
  params: byId,
  returns: z.object({ push_id: z.string() }),
  fails: [...PERSON, "unknown_push_subscription"],
});

export const reportPush = contract({
  id: "push.report",
  method: "POST",
  path: "/push/reports",
  summary: "A device reports that it displayed a push, or what the person did with it",
  access: "caller",
  tunnel: "open",
  body: z.object({
    push_id: z.string().max(64),
    token: z.string().max(255).describe("The token that came with this push"),
    report: z.enum(REPORTS),
  }),
  returns: z.object({
    is_over: z.boolean().describe("True if the item needs no attention any more"),
  }),
  fails: ["unknown_push"],
});
export type ReportPush = z.output<typeof reportPush.body>;
