/** Schemas and routes of the human's inbox. */

import * as z from "zod";
import { Ok } from "kit/http/contract.ts";
import { byId, contract, nullableString } from "protocol/contract.ts";
import { Instant, QueryFlag, queryInteger, Text } from "kit/core/schema.ts";
import { AttachmentRefs, Attachments } from "protocol/messages/attachments.ts";
import { AuthorKind } from "protocol/peers/record.ts";
import { TARGET_FAILS } from "protocol/messages/contract.ts";
import { Question } from "protocol/messages/question.ts";
import { CloseReasons, Outcome } from "protocol/asks/contract.ts";
import { askMachine } from "protocol/asks/states.ts";

export const Push = z.object({
  surface: z.string(),
  status: z.enum(["pending", "pushed", "failed"]),
  surface_ref: nullableString,
  surface_refs: z.array(z.string()),
  verified: z.boolean(),
  error_class: nullableString,
  at: Instant,
});
export type Push = z.output<typeof Push>;

/** The state of an item's ask; all null for an item that is no ask. */
export const ItemState = z.object({
  state: z.enum(askMachine.states).nullable(),
  close_reason: CloseReasons.nullable(),
  outcome: Outcome.nullable(),
  /** The option that was chosen. */
  option_id: nullableString,
  responder: nullableString,
  closed_at: Instant.nullable(),
  /** When the asker of a blocking question stops waiting. */
  expires_at: Instant.nullable(),
});
export type ItemState = z.output<typeof ItemState>;

/** A message to the human (specification 2, contract 2). */
export const InboxItem = z.object({
  item_id: z.string(),
  kind: z.enum(["ask", "notify"]),
  from: z.string(),
  from_peer_id: nullableString,
  /** The author kind of the sender; null for an item from before it was recorded. */
  voice: AuthorKind.nullable(),
  correlation_id: nullableString,
  text: z.string(),
  attachments: Attachments,
  question: Question.nullable(),
  read: z.boolean(),
  read_at: Instant.nullable(),
  read_by: nullableString,
  replied: z.boolean(),
  replied_at: Instant.nullable(),
  /** Until then the human has put it off. It stays unread, and an open ask stays open. */
  snoozed_until: Instant.nullable(),
  created_at: Instant,
  ...ItemState.shape,
  pushes: z.array(Push),
}).meta({ id: "InboxItem" });
export type InboxItem = z.output<typeof InboxItem>;

/** Refusals of every route of the inbox, which may be on another machine. */
const HOME_FAILS = ["no_human", "home_unreachable", "machine_not_yours", "call_too_large"] as const;

const surface = z.string().min(1).max(255).regex(/^\P{Cc}*$/u, "Control characters are not allowed")
  .default("cli");
/** A surface's own id of a message: a number of any length, or another text. */
const ref = (maxLength: number) =>
  z.union([z.string().min(1).max(maxLength), z.int()]).transform(String);

export const listInbox = contract({
  id: "inbox.list",
  method: "GET",
  path: "/inbox",
  compressed: true,
  summary: "The human's inbox, newest first",
  access: "caller",
  tunnel: "open",
  query: z.object({
    unread: QueryFlag.optional(),
    open: QueryFlag.optional().describe(
      "With true, and without a surface: only items whose ask is open, and then unread items",
    ),
    limit: queryInteger(1, 500).default(50),
    surface: z.string().min(1).optional(),
    here: QueryFlag.optional().describe(
      "With true: the inbox of this machine, even if the human's is on another one",
    ),
    through_ref: z.string().regex(/^\d+$/, "Give a decimal number").optional(),
  }),
  returns: z.object({
    human: z.string(),
    human_peer_id: z.string(),
    items: z.array(InboxItem),
  }),
  fails: HOME_FAILS,
});
export type InboxQuery = z.output<typeof listInbox.query>;

export const getInboxItem = contract({
  id: "inbox.get",
  method: "GET",
  path: "/inbox/:id",
  summary: "One item",
  access: "caller",
  tunnel: "open",
  params: byId,
  returns: InboxItem,
  fails: [...HOME_FAILS, "unknown_item"],
});

export const readInboxItem = contract({
  id: "inbox.read",
  method: "POST",
  path: "/inbox/:id/read",
  summary: "Mark an item as read, for every surface",
  access: "caller",
  tunnel: "open",
  params: byId,
  body: z.object({ surface }),
  returns: Ok,
  fails: [...HOME_FAILS, "unknown_item"],
});

export const unreadInboxItem = contract({
  id: "inbox.unread",
  method: "POST",
  path: "/inbox/:id/unread",
  summary: "Mark an item as unread again, unless it has a reply",
  access: "caller",
  tunnel: "open",
  params: byId,
  body: z.object({ surface }),
  returns: Ok,
  fails: [...HOME_FAILS, "unknown_item"],
});

export const snoozeInboxItem = contract({
  id: "inbox.snooze",
  method: "POST",
  path: "/inbox/:id/snooze",
  summary: "Put an item off until an instant; null ends that",
  access: "caller",
  tunnel: "open",
  params: byId,
  body: z.object({ surface, until: Instant.nullable() }),
  returns: Ok,
  fails: [...HOME_FAILS, "unknown_item"],
});

const reply = {
  surface,
  as_new_ask: z.boolean().optional().describe(
    "The person has confirmed that the text is sent as a new ask, although the permission or the " +
      "choice that it replies to is over. Without it, such a text is a 410 `already_closed`",
  ),
  text: z.literal("").or(Text).default(""),
  option_id: z.string().optional(),
  attachments: AttachmentRefs.optional(),
  /**
   * The surface's own id of the reply message. If the reply opens an ask, the id is part of the
   * ask's origin.
   */
  ref: ref(255).optional(),
};

/** Errors of the ask that a reply answers or opens. The item's sender may be gone by now. */
const replyFails = [
  "already_closed",
  "unknown_attachment",
  "unknown_option",
  ...TARGET_FAILS,
  "queue_full",
  "budget_spent",
  "policy_denied",
  "human_not_proven",
] as const;

export const Replied = z.object({
  action: z.enum(["acked", "answered", "asked", "read"]),
  correlation_id: nullableString,
});

export const replyInboxItem = contract({
  id: "inbox.reply",
  method: "POST",
  path: "/inbox/:id/reply",
  summary: "Answer the item's ask, or open a new ask to its sender",
  access: "caller",
  tunnel: "open",
  idempotent: true,
  params: byId,
  body: z.object(reply),
  returns: Replied,
  fails: [...HOME_FAILS, "unknown_item", ...replyFails],
});
export type InboxReply = z.output<typeof replyInboxItem.body>;

export const replyByRef = contract({
  id: "inbox.reply_by_ref",
  method: "POST",
  path: "/inbox/reply",
  summary: "Reply to the item that a surface rendered as the given message",
  access: "caller",
  tunnel: "open",
  body: z.object({ ...reply, surface_ref: ref(4096) }),
  returns: Replied,
  fails: [...HOME_FAILS, "unknown_surface_ref", ...replyFails],
});
