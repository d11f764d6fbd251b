/** Handles the person's replies, button taps and commands in a chat, using the daemon's inbox. */

import { ApiError, type WireResponse } from "kit/http/client.ts";
import { cleanText } from "kit/core/text.ts";
import { replyByRef, replyInboxItem } from "protocol/inbox.ts";
import type {
  Button,
  ChatStyle,
  IncomingEdit,
  IncomingMessage,
  IncomingTap,
  TapAnswer,
} from "./chat.ts";
import { parseCommand, runCommand, UNKNOWN_MESSAGE } from "./commands.ts";
import {
  catchRefusal,
  type ChatDeps,
  getItemByRef,
  getItemId,
  mustGetItem,
  tryChat,
} from "./daemon_calls.ts";
import { FileRefused, IncomingFiles } from "./incoming_files.ts";
import { reportNotSent, sendNotice } from "./notices.ts";
import {
  chosenButtons,
  confirmButtons,
  endedButtons,
  endingText,
  getOption,
  parseChoice,
  parseConfirmation,
  renderItem,
  type ShownItem,
  splitText,
  whyNotHere,
} from "./rendering.ts";

const TEXT_AND_FILES_ONLY = "Not sent. I can forward only text and files.";
const NOT_SENT = "Your text was not sent.";
const FORGOTTEN = "I do not have that text any more. Reply once more, then confirm it.";
const NO_EDITS = "I do not forward changes: what you sent first counts.";
/** Maximum number of texts that wait for the person to confirm that they are new questions. */
const UNCONFIRMED_MAX = 100;
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
  readonly #files: IncomingFiles;
  /** Replies to decisions that were over, by the ref of the message with the reply. */
  readonly #unconfirmed = new Map<string, Reply>();
  /** Items that the person answers with a tap in this chat. */
  readonly #tapped = new Set<string>();

  constructor(deps: ChatDeps) {
    this.#deps = deps;
    this.#files = new IncomingFiles(deps);
    this.#startedAt = deps.clock.now();
  }

  /**
   * Handles one message. `firstTriedAt` is the time of an earlier attempt whose outcome is unclear.
   */
  async message(
    message: IncomingMessage,
    signal: AbortSignal,
    firstTriedAt?: number,
  ): Promise<void> {
    const { ref, text, reply_to, item_id, isForBot, files, hasOther } = message;
    const { command_prefix, reply_verb } = this.#deps.chat.style;
    const hasMedia = hasOther || files.length > 0;
    const command = hasMedia ? undefined : parseCommand(text ?? "", command_prefix);
    if (command !== undefined) {
      const answer = await runCommand(this.#deps, { ...command, ref: reply_to, item_id }, signal);
      if (answer !== undefined) await sendNotice(this.#deps, { text: answer }, signal);
      return;
    }
    if (reply_to === undefined && !isForBot) return;
    const notSent = (text: string) => reportNotSent(this.#deps, { text, reply_to: ref }, signal);
    if (hasOther) return await notSent(TEXT_AND_FILES_ONLY);
    if (text === undefined && !hasMedia) return; // Such as that a message was pinned.
    if (reply_to === undefined) {
      return await notSent(
        `${reply_verb} one of the messages above, so that I know which one you mean. ` +
          `${command_prefix}inbox lists them.`,
      );
    }
    await this.#reply({ ...message, text: text ?? "", reply_to, firstTriedAt }, signal);
  }

  async tap(tap: IncomingTap, signal: AbortSignal): Promise<void> {
    const { id, data, ref } = tap;
    const { chat } = this.#deps;
    const confirmed = parseConfirmation(data);
    if (confirmed !== undefined) return await this.#confirmNewAsk(tap, confirmed, signal);
    const { surface } = chat.style;
    const answer = (text: string, alert: boolean) => this.#answerTap({ id, text, alert }, signal);
    const setButtons = (buttons: readonly Button[]) => this.#setButtons(ref, buttons, signal);
    const choice = parseChoice(data);
    if (!choice) return await answer(ALREADY_CLOSED, false);
    const { item_id } = choice;
    this.#tapped.add(item_id);
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
    if (chosen instanceof ApiError || chosen === undefined) {
      this.#tapped.delete(item_id);
      const ended = await this.#endOf(item_id, signal);
      const text = chosen === undefined ? ALREADY_CLOSED : chosen.problem.detail;
      await answer(ended ? endingText(ended) : text, true);
      const isOver = chosen === undefined || isClosed(chosen);
      if (isOver) await setButtons(ended ? endedButtons(ended, chat.style) : []);
    } else {
      await answer(chosen, false);
      await setButtons(chosenButtons(chosen, item_id, chat.style));
    }
  }

  /** The item, if its ask has ended and the daemon says how. */
  async #endOf(item_id: string | undefined, signal: AbortSignal): Promise<ShownItem | undefined> {
    if (item_id === undefined) return undefined;
    const item = await catchRefusal(() => mustGetItem(this.#deps, item_id, signal));
    return item instanceof ApiError || !item.outcome ? undefined : item;
  }

  async #answerTap({ text, ...answer }: TapAnswer, signal: AbortSignal): Promise<void> {
    const { chat } = this.#deps;
    const [short = ""] = splitText(cleanText(text), chat.style.tap_units_max);
    await tryChat(this.#deps, () => chat.answerTap({ ...answer, text: short }, signal));
  }

  async #setButtons(ref: string, buttons: readonly Button[], signal: AbortSignal): Promise<void> {
    await tryChat(this.#deps, () => this.#deps.chat.setButtons(ref, buttons, signal));
  }

  /** Replaces an item's buttons by a note on the end of its ask, unless a tap here answered it. */
  async end(item: ShownItem, signal: AbortSignal): Promise<void> {
    const { chat, pushes } = this.#deps;
    const { item_id, question, outcome } = item;
    if (this.#tapped.delete(item_id) || !question || !outcome) return;
    const sent = pushes.buttonRefs(item_id);
    const buttons = endedButtons(item, chat.style);
    for (const ref of sent.length > 0 ? sent : lastTextRef(item, chat.style)) {
      await this.#setButtons(ref, buttons, signal);
    }
  }

  /** The id of the item that a reply is for, if it is known here or to the daemon. */
  async #itemOf(
    { reply_to, item_id }: Pick<IncomingEdit, "reply_to" | "item_id">,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (item_id !== undefined || reply_to === undefined) return item_id;
    return await getItemId(this.#deps, reply_to, signal);
  }

  /** The person changed a reply after it was sent. */
  async edit({ ref, reply_to, item_id }: IncomingEdit, signal: AbortSignal): Promise<void> {
    if (reply_to === undefined && item_id === undefined) return;
    const ended = await this.#endOf(await this.#itemOf({ reply_to, item_id }, signal), signal);
    const text = ended ? `${NO_EDITS} ${endingText(ended)}` : NO_EDITS;
    await reportNotSent(this.#deps, { text, reply_to: ref }, signal);
  }

  /** Asks whether a text to a decision that is over becomes a new question. */
  async #askToConfirm(reply: Reply, refusal: ApiError, signal: AbortSignal): Promise<void> {
    const { ref } = reply;
    const id = await this.#itemOf(reply, signal);
    const ended = await this.#endOf(id, signal);
    this.#unconfirmed.set(ref, { ...reply, item_id: id });
    const [oldest] = this.#unconfirmed.keys();
    if (this.#unconfirmed.size > UNCONFIRMED_MAX && oldest) this.#unconfirmed.delete(oldest);
    const text = `${ended ? endingText(ended) : refusal.problem.detail} ${NOT_SENT}`;
    const buttons = confirmButtons(ref, this.#deps.chat.style);
    await reportNotSent(this.#deps, { text, reply_to: ref, buttons }, signal);
  }

  /** Sends a text as a new question, because the person has confirmed it. */
  async #confirmNewAsk(tap: IncomingTap, ref: string, signal: AbortSignal): Promise<void> {
    const { id } = tap;
    const reply = this.#unconfirmed.get(ref);
    const answer = (text: string, alert: boolean) => this.#answerTap({ id, text, alert }, signal);
    if (!reply) {
      await answer(FORGOTTEN, true);
      return await this.#setButtons(tap.ref, [], signal);
    }
    const done = await catchRefusal(() =>
      this.#forwardOnce({ ...reply, as_new_ask: true }, signal)
    );
    this.#files.forget(reply.files);
    this.#unconfirmed.delete(ref);
    const isSent = done !== undefined && !(done instanceof Error);
    const failure = done instanceof ApiError ? done.problem.detail : NOT_SENT;
    await answer(isSent ? FORWARDED_AS_ASK : failure, !isSent);
    const { style } = this.#deps.chat;
    const buttons = isSent ? chosenButtons("Sent", reply.item_id ?? ref, style) : [];
    await this.#setButtons(tap.ref, buttons, signal);
  }

  async #reply(reply: Reply, signal: AbortSignal): Promise<void> {
    const { ref, files } = reply;
    const reason = await this.#whyNotHere(reply, signal);
    if (reason !== undefined) {
      await this.#files.discard(files, signal);
      return await reportNotSent(
        this.#deps,
        { text: `Not sent. ${reason}`, reply_to: ref },
        signal,
      );
    }
    const done = await catchRefusal(() => this.#forwardOnce(reply, signal));
    const refusal = done instanceof ApiError && isRefusal(done) ? done : undefined;
    if (refusal) await this.#files.discard(files, signal);
    else this.#files.forget(files);
    const notSent = (text: string) => reportNotSent(this.#deps, { text, reply_to: ref }, signal);
    if (done === undefined) await notSent(ALREADY_REPLIED);
    else if (done instanceof FileRefused) await notSent(`Not sent. ${done.message}`);
    else if (done instanceof ApiError) {
      const { error, detail } = done.problem;
      if (error === "already_closed") return await this.#askToConfirm(reply, done, signal);
      const what = refusal ? "Not sent." : "I do not know whether this was sent.";
      await notSent(error === "unknown_surface_ref" ? UNKNOWN_MESSAGE : `${what} ${detail}`);
    } else if (done.action === "asked") {
      await sendNotice(this.#deps, { text: FORWARDED_AS_ASK, reply_to: ref }, signal);
    } else await this.#confirm(ref, signal);
  }

  async #whyNotHere(reply: Reply, signal: AbortSignal): Promise<string | undefined> {
    const item = await catchRefusal(async () => {
      const id = await this.#itemOf(reply, signal);
      return id === undefined ? undefined : await mustGetItem(this.#deps, id, signal);
    });
    return item && !(item instanceof ApiError) ? whyNotHere(item, reply.text) : undefined;
  }

  /** Forwards a reply with its files; undefined if it may already have been forwarded. */
  async #forwardOnce(reply: Reply, signal: AbortSignal) {
    const { item_id, files } = reply;
    if (item_id === undefined && await this.#wasForwarded(reply, signal)) return undefined;
    try {
      const attachments = await this.#files.upload(files, signal);
      if (item_id === undefined) return await this.#forwardReply(reply, attachments, signal);
      return await this.#forwardWithKey(reply, item_id, attachments, signal);
    } catch (error) {
      if (error instanceof FileRefused) return error;
      throw error;
    }
  }

  /** Forwards a reply to a known item. Repeated forwards have no further effect. */
  async #forwardWithKey(
    reply: Reply,
    id: string,
    attachments: string[],
    signal: AbortSignal,
  ): Promise<WireResponse<typeof replyByRef>> {
    const { call, chat: { style: { surface } } } = this.#deps;
    const { ref, files } = reply;
    const headers = { "idempotency-key": `${surface}-reply-${ref}` };
    const body = { surface, ...contentOf(reply, attachments), ref };
    try {
      return await call(replyInboxItem, { params: { id }, body, headers, signal });
    } catch (error) {
      const isTaken = error instanceof ApiError && error.problem.error === "idempotency_mismatch";
      if (!isTaken) throw error;
      // An earlier process forwarded this reply, with attachments that it uploaded itself.
      await this.#files.discard(files, signal);
      return { action: "acked", correlation_id: null };
    }
  }

  /**
   * Forwards a reply to the daemon, which finds the item by the message that was replied to. If the
   * daemon does not have that message's receipt yet, the push queue supplies the item's id.
   */
  async #forwardReply(
    reply: Reply,
    attachments: string[],
    signal: AbortSignal,
  ): Promise<WireResponse<typeof replyByRef>> {
    const { call, chat, pushes } = this.#deps;
    const { reply_to } = reply;
    const body = { surface: chat.style.surface, ...contentOf(reply, attachments) };
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
    const confirmed = await tryChat(this.#deps, () => chat.confirm(ref, signal).then(() => true));
    if (!confirmed) await sendNotice(this.#deps, { text: "Sent.", reply_to: ref }, signal);
  }

  /**
   * True if the reply may already have been forwarded, by an earlier process or by an attempt whose
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

type Reply = Pick<IncomingMessage, "ref" | "written_at" | "files" | "item_id"> & {
  readonly text: string;
  /** The bot's message to which this is a reply. */
  readonly reply_to: string;
  readonly firstTriedAt: number | undefined;
  /** The person has confirmed that it is a new question. */
  readonly as_new_ask?: true;
};

/** The fields of a request that a reply fills. */
function contentOf({ text, as_new_ask }: Reply, attachments: string[]) {
  return {
    text,
    ...(attachments.length > 0 && { attachments }),
    ...(as_new_ask && { as_new_ask }),
  };
}

/**
 * The message with the buttons of an item that an earlier process has sent: the message of the
 * item's last text. The messages of its files follow it.
 */
function lastTextRef(item: ShownItem, style: ChatStyle): readonly string[] {
  const push = item.pushes.find(({ surface }) => surface === style.surface);
  const { texts, buttons } = renderItem({ ...item, state: "open", pushes: [] }, style);
  const ref = push?.surface_refs[texts.length - 1];
  return ref === undefined || !buttons ? [] : [ref];
}

/** True if the daemon has certainly not accepted the reply. With a 5xx status, it may have. */
function isRefusal({ status, problem }: ApiError): boolean {
  return status < 500 || problem.error === "no_human";
}

/** True if the refusal means that the buttons of this item can no longer have an effect. */
function isClosed({ problem }: ApiError): boolean {
  return ["already_closed", "unknown_item"].includes(problem.error);
}
