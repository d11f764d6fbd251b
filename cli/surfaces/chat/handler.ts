/** Handles the person's replies, button taps and commands in a chat, using the daemon's inbox. */

import { ApiError, type WireResponse } from "kit/http/client.ts";
import { cleanText } from "kit/core/text.ts";
import { replyByRef, replyInboxItem } from "../../../daemon/features/inbox/contract.ts";
import type { Button, IncomingMessage, IncomingTap } from "./chat.ts";
import { parseCommand, runCommand, UNKNOWN_MESSAGE } from "./commands.ts";
import { catchRefusal, type ChatDeps, getItemByRef, mustGetItem, tryChat } from "./daemon_calls.ts";
import { chosenButtons, getOption, parseChoice, splitText } from "./rendering.ts";

const TEXT_ONLY = "I can forward only text.";
const FORWARDED_AS_ASK = "Sent as a new question; the answer will appear here.";
const ALREADY_CLOSED = "This is already closed.";
const ALREADY_REPLIED = "This item was answered in the meantime, possibly with this reply. " +
  "To send it anyway, reply again.";

/**
 * Handles messages and taps. A method throws only when it must be retried because the daemon is
 * unavailable. A refusal of the daemon is shown in the chat.
 */
export class ChatHandler {
  readonly #deps: ChatDeps;
  readonly #startedAt: number;

  constructor(deps: ChatDeps) {
    this.#deps = deps;
    this.#startedAt = deps.clock.now();
  }

  /**
   * Handles one message. If an earlier attempt had an unclear outcome, `firstTriedAt` is when that
   * attempt began.
   */
  async message(
    message: IncomingMessage,
    signal: AbortSignal,
    firstTriedAt?: number,
  ): Promise<void> {
    const { ref, text, reply_to, item_id, isForBot, hasMedia } = message;
    const { command_prefix, reply_verb } = this.#deps.chat.style;
    const command = parseCommand(text ?? "", command_prefix);
    if (command !== undefined) {
      const answer = await runCommand(this.#deps, { ...command, ref: reply_to, item_id }, signal);
      if (answer !== undefined) await this.sendText(answer, signal);
      return;
    }
    if (reply_to === undefined && !isForBot) return;
    if (text === undefined) {
      if (hasMedia) await this.sendText(TEXT_ONLY, signal, ref);
    } else if (reply_to === undefined) {
      const how = `${reply_verb} one of the messages above, so that I know which one you mean. ` +
        `${command_prefix}inbox lists them.`;
      await this.sendText(how, signal, ref);
    } else await this.#reply({ ...message, text, reply_to, firstTriedAt }, signal);
  }

  async tap({ id, data, ref }: IncomingTap, signal: AbortSignal): Promise<void> {
    const { chat } = this.#deps;
    const { surface, tap_units_max } = chat.style;
    const answer = (text: string, alert: boolean) => {
      const [short = ""] = splitText(cleanText(text), tap_units_max);
      return tryChat(this.#deps, () => chat.answerTap({ id, text: short, alert }, signal));
    };
    const setButtons = (buttons: readonly Button[]) =>
      tryChat(this.#deps, () => chat.setButtons(ref, buttons, signal));
    const choice = parseChoice(data);
    if (!choice) return await answer(ALREADY_CLOSED, false);
    const { item_id } = choice;
    const chosen = await catchRefusal(async () => {
      const item = await mustGetItem(this.#deps, item_id, signal);
      const option = choice.option === undefined
        ? undefined
        : getOption(item.question, choice.option);
      if (choice.option !== undefined && !option) return undefined;
      const body = { surface, text: "", ...(option && { option_id: option.id }) };
      const headers = { "idempotency-key": `${surface}-tap-${id}` };
      const request = { params: { id: item_id }, body, headers, signal };
      const { action } = await this.#deps.call(replyInboxItem, request);
      // Any other action means that the item was already closed.
      return action === "acked" || action === "answered" ? option?.label ?? "OK" : undefined;
    });
    if (chosen instanceof ApiError) {
      await answer(chosen.problem.detail, true);
      if (isClosed(chosen)) await setButtons([]);
    } else if (chosen === undefined) {
      await answer(ALREADY_CLOSED, true);
      await setButtons([]);
    } else {
      await answer(chosen, false);
      await setButtons(chosenButtons(chosen, item_id, chat.style));
    }
  }

  /** Sends a text that is not an item. A failure is only logged. */
  async sendText(
    text: string,
    signal: AbortSignal,
    reply_to?: string,
  ): Promise<string | undefined> {
    const { chat } = this.#deps;
    return await tryChat(this.#deps, () => chat.sendText({ text, reply_to }, signal));
  }

  async #reply(reply: Reply, signal: AbortSignal): Promise<void> {
    const { ref } = reply;
    const done = await catchRefusal(async () => {
      if (reply.item_id !== undefined) return await this.#forwardOnce(reply, reply.item_id, signal);
      return await this.#wasForwarded(reply, signal)
        ? undefined
        : await this.#forwardReply(reply, signal);
    });
    if (done === undefined) await this.sendText(ALREADY_REPLIED, signal, ref);
    else if (done instanceof ApiError) {
      const { error, detail } = done.problem;
      const why = error === "unknown_surface_ref" ? UNKNOWN_MESSAGE : `Not sent. ${detail}`;
      await this.sendText(why, signal, ref);
    } else if (done.action === "asked") await this.sendText(FORWARDED_AS_ASK, signal, ref);
    else await this.#confirm(ref, signal);
  }

  /** Forwards a reply to a known item. The daemon takes it once, however often it is forwarded. */
  async #forwardOnce({ ref, text }: Reply, id: string, signal: AbortSignal) {
    const { call, chat: { style: { surface } } } = this.#deps;
    const headers = { "idempotency-key": `${surface}-reply-${ref}` };
    const body = { surface, text, ref };
    return await call(replyInboxItem, { params: { id }, body, headers, signal });
  }

  /**
   * Forwards a reply to the daemon, which finds the item by the message that was replied to. If the
   * daemon does not have that message's receipt yet, the push queue supplies the item's id.
   */
  async #forwardReply(
    { reply_to, text }: Reply,
    signal: AbortSignal,
  ): Promise<WireResponse<typeof replyByRef>> {
    const { call, chat, pushes } = this.#deps;
    const body = { surface: chat.style.surface, text };
    try {
      return await call(replyByRef, { body: { ...body, surface_ref: reply_to }, signal });
    } catch (error) {
      const id = pushes.getItemId(reply_to);
      const unknown = error instanceof ApiError && error.problem.error === "unknown_surface_ref";
      if (!unknown || id === undefined) throw error;
      const request = { params: { id }, body: { ...body, ref: reply_to }, signal };
      return await call(replyInboxItem, request);
    }
  }

  async #confirm(ref: string, signal: AbortSignal): Promise<void> {
    const { chat } = this.#deps;
    const confirmed = await tryChat(
      this.#deps,
      () => chat.confirm(ref, signal).then(() => true),
    );
    if (!confirmed) await this.sendText("Sent.", signal, ref);
  }

  /**
   * Whether the reply may already have been forwarded, by an earlier process or by an attempt whose
   * answer was lost. Forwarding it again would open a new ask.
   */
  async #wasForwarded(
    { reply_to, written_at, firstTriedAt }: Reply,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (firstTriedAt === undefined && written_at >= this.#startedAt) return false;
    const { replied_at } = await getItemByRef(this.#deps, reply_to, signal) ?? {};
    if (!replied_at) return false;
    const at = Date.parse(replied_at);
    return firstTriedAt === undefined
      ? at >= written_at && at < this.#startedAt
      : at >= firstTriedAt;
  }
}

type Reply = Pick<IncomingMessage, "ref" | "written_at" | "item_id"> & {
  readonly text: string;
  /** The bot's message to which this is a reply. */
  readonly reply_to: string;
  readonly firstTriedAt: number | undefined;
};

/** Whether the refusal means that the buttons of this item can no longer have an effect. */
function isClosed({ problem }: ApiError): boolean {
  return ["already_closed", "unknown_item"].includes(problem.error);
}
