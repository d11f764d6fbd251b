/** The commands of the chat: /inbox, /show, /read and /help. */

import { ApiError } from "kit/http/client.ts";
import { listInbox, readInboxItem } from "../../../daemon/features/inbox/contract.ts";
import { catchRefusal, type Chat, type ChatDeps, findItemByRef, getItem } from "./chat.ts";
import { formatSummary, MESSAGE_UNITS_MAX, renderItem, splitText, SURFACE } from "./rendering.ts";

const HELP = `I show you the questions and messages of your agents.

Reply to a message to answer it, or tap one of its buttons.

/inbox lists your unread items
/show ID shows one item again
/read marks an item as read (as a reply or with an ID); alone, it marks all
/help shows this text`;
export const UNKNOWN_MESSAGE = "I do not know that message. Reply to a message from an agent.";
const NO_UNREAD = "You have no unread items.";
const LISTED_MAX = 10;

export class ChatCommands {
  readonly #deps: ChatDeps;
  readonly #chat: Chat;

  constructor(deps: ChatDeps, chat: Chat) {
    this.#deps = deps;
    this.#chat = chat;
  }

  /** `ref` is the bot's message that the command replies to. */
  async run(
    { commandName, id, ref }: {
      commandName: string;
      id: string | undefined;
      ref: number | undefined;
    },
    signal: AbortSignal,
  ): Promise<void> {
    if (commandName === "start" || commandName === "help") {
      return void await this.#chat.sendText(HELP, signal);
    }
    const response = await catchRefusal(async () => {
      if (commandName === "inbox") return await this.#list(signal);
      const item_id = id ??
        (ref === undefined ? undefined : await this.#getItemIdByRef(ref, signal));
      if (item_id === undefined && ref !== undefined) return UNKNOWN_MESSAGE;
      if (commandName === "show") return await this.#show(item_id, signal);
      return await this.#read(item_id, signal);
    });
    if (response instanceof ApiError) await this.#chat.sendText(response.problem.detail, signal);
    else if (response !== undefined) await this.#chat.sendText(response, signal);
  }

  async #getItemIdByRef(ref: number, signal: AbortSignal): Promise<string | undefined> {
    return this.#deps.pushes.getItemId(ref) ??
      (await findItemByRef(this.#deps.call, ref, signal))?.item_id;
  }

  async #list(signal: AbortSignal): Promise<string> {
    const query = { unread: "1", limit: String(LISTED_MAX + 1) } as const;
    const { items } = await this.#deps.call(listInbox, { query, signal });
    if (items.length === 0) return NO_UNREAD;
    const lines = items.slice(0, LISTED_MAX).map((item) => formatSummary(item));
    const more = items.length > LISTED_MAX ? ["More: mesh inbox list --unread"] : [];
    return splitText([...lines, ...more].join("\n\n"), MESSAGE_UNITS_MAX)[0] ?? "";
  }

  async #show(item_id: string | undefined, signal: AbortSignal): Promise<string | undefined> {
    if (item_id === undefined) return "Use /show ID, with an ID from /inbox.";
    const item = await getItem(this.#deps.call, item_id, signal);
    const { texts, keyboard } = renderItem({ ...item, pushes: [] });
    for (const [at, text] of texts.entries()) {
      const last = at === texts.length - 1;
      const ref = await this.#chat.tryTelegram(() =>
        this.#deps.bot.sendMessage({ text, ...(last && { keyboard }) }, signal)
      );
      if (ref === undefined) return undefined;
      this.#deps.pushes.recordMessage(ref, item_id);
    }
    return undefined;
  }

  async #read(item_id: string | undefined, signal: AbortSignal): Promise<string> {
    const { call } = this.#deps;
    const body = { surface: SURFACE };
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
}
