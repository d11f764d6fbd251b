/** The commands of a chat: help, inbox, show and read. */

import { ApiError } from "kit/http/client.ts";
import { listInbox, readInboxItem } from "protocol/inbox.ts";
import { catchRefusal, type ChatDeps, getItemId, mustGetItem, tryChat } from "./daemon_calls.ts";
import { ChatError, type ChatStyle, hasFailed } from "./chat.ts";
import { FileNotSent, sendPart } from "./part_sender.ts";
import { type Part, partsOf, replacement } from "./parts.ts";
import { formatSummary, splitText } from "./rendering.ts";

const help = ({ command_prefix: p, reply_verb }: ChatStyle) =>
  `I show you the questions and messages of your agents.

${reply_verb} a message to answer it, with files if you like, or tap one of its buttons.

${p}inbox lists your unread items
${p}show ID shows one item again
${p}read marks an item as read (as a reply or with an ID); alone, it marks all
${p}help shows this text`;
export const UNKNOWN_MESSAGE = "I do not know that message. Reply to a message from an agent.";
const NO_UNREAD = "You have no unread items.";
const LISTED_MAX = 10;

interface ChatCommand {
  readonly name: string;
  readonly id: string | undefined;
  /** The bot's message that the command replies to. */
  readonly ref: string | undefined;
  /** The item that this message shows, if the chat itself knows it. */
  readonly item_id?: string | undefined;
}

/** The command in a text, without `ref`; undefined when the text is not a command. */
export function parseCommand(
  text: string,
  prefix: string,
): Pick<ChatCommand, "name" | "id"> | undefined {
  if (!text.startsWith(prefix)) return undefined;
  const command = /^(start|help|inbox|read|show)(?:@\w+)?(?:\s+(\S+))?\s*$/;
  const [, name, id] = command.exec(text.slice(prefix.length)) ?? [];
  return name === undefined ? undefined : { name, id };
}

/** Runs a command. Returns the text to send as an answer, if there is any. */
export async function runCommand(
  deps: ChatDeps,
  { name, id, ref, item_id: shown_id }: ChatCommand,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (name === "start" || name === "help") return help(deps.chat.style);
  const answer = await catchRefusal(async () => {
    if (name === "inbox") return await listUnread(deps, signal);
    const replied = async () => ref && (shown_id ?? await getItemId(deps, ref, signal));
    const item_id = id ?? await replied();
    if (item_id === undefined && ref !== undefined) return UNKNOWN_MESSAGE;
    if (name === "show") return await showItem(deps, item_id, signal);
    return await markRead(deps, item_id, signal);
  });
  return answer instanceof ApiError ? answer.problem.detail : answer;
}

async function listUnread({ call, chat }: ChatDeps, signal: AbortSignal): Promise<string> {
  const query = { unread: "1", limit: String(LISTED_MAX + 1) } as const;
  const { items } = await call(listInbox, { query, signal });
  if (items.length === 0) return NO_UNREAD;
  const lines = items.slice(0, LISTED_MAX).map((item) => formatSummary(item, chat.style));
  const more = items.length > LISTED_MAX ? ["More: mesh inbox list --unread"] : [];
  return splitText([...lines, ...more].join("\n\n"), chat.style.text_units_max)[0] ?? "";
}

async function showItem(
  deps: ChatDeps,
  item_id: string | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { chat, pushes } = deps;
  const { style: { command_prefix: p } } = chat;
  if (item_id === undefined) return `Use ${p}show ID, with an ID from ${p}inbox.`;
  const item = await mustGetItem(deps, item_id, signal);
  let first_ref: string | undefined;
  for (const part of partsOf({ ...item, pushes: [] }, chat.style)) {
    const sent = await tryChat(deps, () => showPart(deps, part, first_ref, signal));
    if (!sent) return undefined;
    first_ref ??= sent.ref;
    const hasButtons = part.kind === "text" && part.buttons !== undefined;
    if (sent.ref !== undefined) pushes.recordMessage(sent.ref, item_id, hasButtons);
  }
  return undefined;
}

/** Sends a part, or a text that says why its file is not sent. */
async function showPart(
  deps: ChatDeps,
  part: Part,
  first_ref: string | undefined,
  signal: AbortSignal,
): Promise<{ ref: string | undefined }> {
  const signals = { stop: signal, abort: signal };
  try {
    return { ref: await sendPart(deps, part, { first_ref }, signals) };
  } catch (error) {
    const isFailure = error instanceof FileNotSent || error instanceof ChatError;
    if (part.kind === "text" || !isFailure) throw error;
    const text = hasFailed(error, "unclear") ? part.uncertain : part.notSent(error.message);
    return { ref: await sendPart(deps, replacement(part, text), { first_ref }, signals) };
  }
}

/** Marks one item as read, or all items. */
async function markRead(
  { call, chat }: ChatDeps,
  item_id: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const body = { surface: chat.style.surface };
  if (item_id !== undefined) {
    await call(readInboxItem, { params: { id: item_id }, body, signal });
    return "Marked as read.";
  }
  const { items } = await call(listInbox, { query: { unread: "1", limit: "500" }, signal });
  for (const { item_id: id } of items) {
    await call(readInboxItem, { params: { id }, body, signal });
  }
  return items.length === 0 ? NO_UNREAD : `Marked ${items.length} as read.`;
}
