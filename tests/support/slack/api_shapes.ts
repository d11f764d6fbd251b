/** The parameters of Slack's methods that the fake accepts, with the limits that Slack states. */

import * as z from "zod";

const ts = z.string().regex(/^\d{10}\.\d{6}$/);
const block_id = z.string().min(1).max(255);
const number = z.string().regex(/^\d+$/).transform(Number);

const TextElement = z.strictObject({
  type: z.literal("text"),
  text: z.string().min(1).refine((text) => text.isWellFormed()),
  style: z.strictObject({ bold: z.boolean().optional(), italic: z.boolean().optional() })
    .optional(),
});
const UserElement = z.strictObject({ type: z.literal("user"), user_id: z.string() });
const RichText = z.strictObject({
  type: z.literal("rich_text"),
  block_id: block_id.optional(),
  elements: z.array(z.strictObject({
    type: z.literal("rich_text_section"),
    elements: z.array(z.union([TextElement, UserElement])).min(1),
  })).min(1),
});
const Button = z.strictObject({
  type: z.literal("button"),
  action_id: z.string().min(1).max(255),
  text: z.strictObject({
    type: z.literal("plain_text"),
    text: z.string().min(1).max(75),
    emoji: z.literal(false),
  }),
  value: z.string().max(2000),
});
const Actions = z.strictObject({
  type: z.literal("actions"),
  block_id: block_id.optional(),
  elements: z.array(Button).min(1).max(25)
    .refine((all) => new Set(all.map(({ action_id }) => action_id)).size === all.length),
});

const Blocks = z.array(z.union([RichText, Actions])).min(1).max(50)
  .refine((blocks) => {
    const ids = blocks.flatMap(({ block_id }) => block_id ?? []);
    return new Set(ids).size === ids.length;
  }, "two blocks have the same block_id")
  .refine((blocks) => JSON.stringify(blocks).length <= 13_000, "msg_blocks_too_long");
export type Blocks = z.output<typeof Blocks>;

const json = z.string().transform((text, context) => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue("not JSON");
    return z.NEVER;
  }
});

/** A text in which Slack reads `<…>` as a link or a mention: everything of the kind is escaped. */
const Escaped = z.string().min(1).max(4000)
  .refine((text) => !/[<>]|&(?!(?:amp|lt|gt);)/.test(text), "unescaped");

const range = {
  oldest: ts.optional(),
  latest: ts.optional(),
  limit: number.pipe(z.int().min(1).max(999)),
  cursor: z.string().optional(),
};

export const METHODS = {
  "auth.test": z.strictObject({}),
  "apps.connections.open": z.strictObject({}),
  "conversations.open": z.strictObject({ users: z.string().regex(/^[UW]\w+$/) }),
  "conversations.history": z.strictObject({ channel: z.string(), ...range }),
  "conversations.replies": z.strictObject({ channel: z.string(), ts, ...range }),
  "chat.postMessage": z.strictObject({
    channel: z.string(),
    text: Escaped,
    blocks: json.pipe(Blocks),
    thread_ts: ts.optional(),
    unfurl_links: z.literal("false"),
    unfurl_media: z.literal("false"),
  }),
  "chat.update": z.strictObject({
    channel: z.string(),
    ts,
    text: Escaped,
    blocks: json.pipe(Blocks),
  }),
  "chat.postEphemeral": z.strictObject({
    channel: z.string(),
    user: z.string(),
    text: Escaped,
    thread_ts: ts.optional(),
  }),
  "files.getUploadURLExternal": z.strictObject({ filename: z.string().min(1), length: number }),
  "files.completeUploadExternal": z.strictObject({
    files: json.pipe(z.array(z.strictObject({ id: z.string(), title: z.string() })).length(1)),
    channel_id: z.string(),
    thread_ts: ts.optional(),
    blocks: json.pipe(z.array(RichText)),
  }),
  "files.info": z.strictObject({ file: z.string() }),
  "reactions.add": z.strictObject({
    channel: z.string(),
    timestamp: ts,
    name: z.literal("ok_hand"),
  }),
} as const;
export type Method = keyof typeof METHODS;
export type Params<M extends Method> = z.output<(typeof METHODS)[M]>;
