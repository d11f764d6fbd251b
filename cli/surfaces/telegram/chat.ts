/** What the person in the chat does: replies, taps and commands, carried to the daemon's inbox. */

import type { Clock } from "kit/core/clock.ts";
import { type Call, Refused, type Wire } from "kit/http/client.ts";
import { cleanText } from "kit/core/text.ts";
import {
  getInboxItem,
  listInbox,
  readInboxItem,
  replyByRef,
  replyInboxItem,
} from "../../../daemon/features/inbox/contract.ts";
import { Unreachable } from "../../client/daemon_client.ts";
import { type BotApi, BotFault, type Keyboard, type Message, type Tap } from "./bot_api.ts";
import type { Pushes } from "./pushes.ts";
import {
  choiceOf,
  chosenKeyboard,
  MESSAGE_UNITS_MAX,
  optionOf,
  renderItem,
  ShownItem,
  split,
  summaryOf,
  SURFACE,
} from "./rendering.ts";

const HELP = `I show what the agents of your mesh ask and tell you.

Reply to a message to answer it, or tap one of its buttons.

/inbox lists what you have not read
/show ID shows one item again
/read as a reply, or with an ID, marks one read; alone, everything
/help says this`;
const HOW = "Reply to one of the messages above, so that I know whom you mean. /inbox lists them.";
const UNKNOWN =
  "I do not know that message. Reply to one in which an agent asks or says something.";
const TEXT_ONLY = "I can pass on text only.";
const ASKED = "Passed on as a new question; the answer comes here.";
const CLOSED = "That was closed already.";
const REPEATED = "That item has been answered in the meantime, perhaps with just this. " +
  "If it still needs saying, reply once more.";
const LISTED_MAX = 10;
/** Telegram shows at most so much of the answer to a tap. */
const TAP_UNITS_MAX = 200;
/** Of items shown up to a message, where the one of that message is looked for. */
const LOOKED_AT_MAX = 20;

export interface PersonNeeds {
  readonly bot: BotApi;
  readonly call: Call;
  readonly clock: Clock;
  readonly pushes: Pick<Pushes, "itemOf" | "shows">;
  say(what: string): void;
}

/**
 * Each verb throws only what means that it must be tried again: the daemon is away. Whatever the
 * daemon refuses is told in the chat.
 */
export class Person {
  readonly #needs: PersonNeeds;
  readonly #started_at: number;
  readonly #strangers = new Set<number>();

  constructor(needs: PersonNeeds) {
    this.#needs = needs;
    this.#started_at = needs.clock.now();
  }

  /** `tried_at`: when it was first tried to carry this, if that came to no clear end. */
  async message(message: Message, signal: AbortSignal, tried_at?: number): Promise<void> {
    if (this.#ignores(message.chat)) return;
    const { text, chat, reply_to_message: to } = message;
    const ref = to && this.#needs.bot.isOwn(to.from) ? to.message_id : undefined;
    const command = /^\/(start|help|inbox|read|show)(?:@\w+)?(?:\s+(\S+))?\s*$/.exec(text ?? "");
    const [, verb, id] = command ?? [];
    if (verb !== undefined) return await this.#obey({ verb, id, ref }, signal);
    // In a group people talk to each other: only what is said to us is ours.
    if (ref === undefined && chat.type !== "private") return;
    if (text === undefined) {
      if (hasMedia(message)) await this.tell(TEXT_ONLY, signal, message.message_id);
    } else if (ref === undefined) await this.tell(HOW, signal, message.message_id);
    else await this.#reply({ ...message, text, ref, tried_at }, signal);
  }

  async tap(tap: Tap, signal: AbortSignal): Promise<void> {
    const { id, data = "", message } = tap;
    if (!message || this.#ignores(message.chat)) return;
    const answer = (text: string, alert: boolean) =>
      this.#quietly(() =>
        this.#needs.bot.answerTap(
          { id, text: split(cleanText(text), TAP_UNITS_MAX)[0] ?? "", alert },
          signal,
        )
      );
    const keyboard = (keyboard: Keyboard) =>
      this.#quietly(() => this.#needs.bot.setKeyboard(message.message_id, keyboard, signal));
    const choice = choiceOf(data);
    if (!choice) return await answer(CLOSED, false);
    const { item_id } = choice;
    const chosen = await this.#refusable(async () => {
      const item = await this.#item(item_id, signal);
      const option = choice.option === undefined
        ? undefined
        : optionOf(item.question, choice.option);
      if (choice.option !== undefined && !option) return undefined;
      const body = { surface: SURFACE, text: "", ...(option && { option_id: option.id }) };
      const given = { params: { id: item_id }, body, signal };
      const { action } = await this.#needs.call(replyInboxItem, given);
      // A tap asks nothing anew: what was not answered by it had been closed before.
      return action === "acked" || action === "answered" ? option?.label ?? "OK" : undefined;
    });
    if (chosen instanceof Refused) {
      await answer(chosen.problem.detail, true);
      if (isOver(chosen)) await keyboard([]);
    } else if (chosen === undefined) {
      await answer(CLOSED, true);
      await keyboard([]);
    } else {
      await answer(chosen, false);
      await keyboard(chosenKeyboard(chosen, item_id));
    }
  }

  /** Says something that is no item. It may fail: the log says so, and nothing waits for it. */
  async tell(text: string, signal: AbortSignal, reply_to?: number): Promise<number | undefined> {
    return await this.#quietly(() => this.#needs.bot.sendMessage({ text, reply_to }, signal));
  }

  async #reply(reply: Reply, signal: AbortSignal): Promise<void> {
    const { message_id } = reply;
    const done = await this.#refusable(async () => {
      return await this.#wasCarried(reply, signal) ? undefined : await this.#pass(reply, signal);
    });
    if (done === undefined) await this.tell(REPEATED, signal, message_id);
    else if (done instanceof Refused) {
      const { error, detail } = done.problem;
      const why = error === "unknown_surface_ref" ? UNKNOWN : `Not passed on. ${detail}`;
      await this.tell(why, signal, message_id);
    } else if (done.action === "asked") await this.tell(ASKED, signal, message_id);
    else await this.#nod(message_id, signal);
  }

  /** The daemon knows what our messages show, save what we could not tell it yet. */
  async #pass({ ref, text }: Reply, signal: AbortSignal): Promise<Wire<typeof replyByRef>> {
    const { call, pushes } = this.#needs;
    const body = { surface: SURFACE, text };
    try {
      return await call(replyByRef, { body: { ...body, surface_ref: String(ref) }, signal });
    } catch (fault) {
      const id = pushes.itemOf(ref);
      const unknown = fault instanceof Refused && fault.problem.error === "unknown_surface_ref";
      if (!unknown || id === undefined) throw fault;
      const given = { params: { id }, body: { ...body, ref: String(ref) }, signal };
      return await call(replyInboxItem, given);
    }
  }

  async #nod(message_id: number, signal: AbortSignal): Promise<void> {
    const { bot } = this.#needs;
    const nodded = await this.#quietly(() => bot.react(message_id, "👌", signal).then(() => true));
    if (!nodded) await this.tell("Passed on.", signal, message_id);
  }

  /**
   * Whether the reply may have been carried already: by who we were before we were started, or by
   * an attempt whose answer was lost. A second time it would open a new ask.
   */
  async #wasCarried({ ref, date, tried_at }: Reply, signal: AbortSignal): Promise<boolean> {
    const written_at = date * 1000;
    if (tried_at === undefined && written_at >= this.#started_at) return false;
    const { replied_at } = await this.#itemAt(ref, signal) ?? {};
    if (!replied_at) return false;
    const at = Date.parse(replied_at);
    return tried_at === undefined ? at >= written_at && at < this.#started_at : at >= tried_at;
  }

  async #itemAt(ref: number, signal: AbortSignal): Promise<Item | undefined> {
    const query = { surface: SURFACE, through_ref: String(ref), limit: String(LOOKED_AT_MAX) };
    const { items } = await this.#needs.call(listInbox, { query, signal });
    return items.find(({ pushes }) =>
      pushes.some(({ surface, surface_refs }) =>
        surface === SURFACE && surface_refs.includes(String(ref))
      )
    );
  }

  async #obey(
    { verb, id, ref }: { verb: string; id: string | undefined; ref: number | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    if (verb === "start" || verb === "help") return void await this.tell(HELP, signal);
    const said = await this.#refusable(async () => {
      if (verb === "inbox") return await this.#list(signal);
      const item_id = id ?? (ref === undefined ? undefined : await this.#itemIdAt(ref, signal));
      if (item_id === undefined && ref !== undefined) return UNKNOWN;
      if (verb === "show") return await this.#show(item_id, signal);
      return await this.#read(item_id, signal);
    });
    if (said instanceof Refused) await this.tell(said.problem.detail, signal);
    else if (said !== undefined) await this.tell(said, signal);
  }

  async #item(id: string, signal: AbortSignal): Promise<ShownItem> {
    return ShownItem.parse(await this.#needs.call(getInboxItem, { params: { id }, signal }));
  }

  async #itemIdAt(ref: number, signal: AbortSignal): Promise<string | undefined> {
    return this.#needs.pushes.itemOf(ref) ?? (await this.#itemAt(ref, signal))?.item_id;
  }

  async #list(signal: AbortSignal): Promise<string> {
    const query = { unread: "1", limit: String(LISTED_MAX + 1) } as const;
    const { items } = await this.#needs.call(listInbox, { query, signal });
    if (items.length === 0) return "Nothing waits for you.";
    const lines = items.slice(0, LISTED_MAX).map((item) => summaryOf(item));
    const more = items.length > LISTED_MAX ? ["… and more: mesh inbox list --unread"] : [];
    return split([...lines, ...more].join("\n\n"), MESSAGE_UNITS_MAX)[0] ?? "";
  }

  async #show(item_id: string | undefined, signal: AbortSignal): Promise<string | undefined> {
    if (item_id === undefined) return "Say which: /show ID, with an ID that /inbox lists.";
    const item = await this.#item(item_id, signal);
    const { texts, keyboard } = renderItem({ ...item, pushes: [] });
    for (const [at, text] of texts.entries()) {
      const last = at === texts.length - 1;
      const ref = await this.#quietly(() =>
        this.#needs.bot.sendMessage({ text, ...(last && { keyboard }) }, signal)
      );
      if (ref === undefined) return undefined;
      this.#needs.pushes.shows(ref, item_id);
    }
    return undefined;
  }

  async #read(item_id: string | undefined, signal: AbortSignal): Promise<string> {
    const { call } = this.#needs;
    const body = { surface: SURFACE };
    if (item_id !== undefined) {
      await call(readInboxItem, { params: { id: item_id }, body, signal });
      return "Marked as read.";
    }
    const { items } = await call(listInbox, { query: { unread: "1", limit: "500" }, signal });
    for (const { item_id: id } of items) {
      await call(readInboxItem, { params: { id }, body, signal });
    }
    return items.length === 0 ? "Nothing waits for you." : `Marked ${items.length} as read.`;
  }

  /** Others than the person's chat are not answered; each is logged once, without what it said. */
  #ignores(chat: Message["chat"]): boolean {
    if (this.#needs.bot.isOurs(chat)) return false;
    if (!this.#strangers.has(chat.id) && this.#strangers.size < STRANGERS_MAX) {
      this.#strangers.add(chat.id);
      this.#needs.say(
        `Ignored a message from chat ${chat.id}: it is not surfaces.telegram.chat_id`,
      );
    }
    return true;
  }

  /** A refusal is an answer; that the daemon is away is not. */
  async #refusable<A>(work: () => Promise<A>): Promise<A | Refused> {
    try {
      return await work();
    } catch (fault) {
      if (fault instanceof Refused && !isAway(fault)) return fault;
      throw fault;
    }
  }

  /** What the chat is told beside the work: undefined, and a line in the log, when it fails. */
  async #quietly<A>(work: () => Promise<A>): Promise<A | undefined> {
    try {
      return await work();
    } catch (fault) {
      if (!(fault instanceof BotFault) || fault.error_class === "unauthorized") throw fault;
      this.#needs.say(`Telegram: ${fault.message}`);
      return undefined;
    }
  }
}

type Item = Wire<typeof getInboxItem>;
type Reply = Pick<Message, "message_id" | "date"> & {
  readonly text: string;
  /** The message of ours that it replies to. */
  readonly ref: number;
  readonly tried_at: number | undefined;
};
const STRANGERS_MAX = 1_000;

/** The daemon is gone, going, or cannot write: what it would say is not known yet. */
export function isAway(fault: unknown): boolean {
  if (fault instanceof Unreachable) return true;
  return fault instanceof Refused && fault.status === 503 && fault.problem.error !== "no_human";
}

/** Nothing that is tapped on this item can ever do anything. */
function isOver({ problem }: Refused): boolean {
  return ["already_closed", "unknown_item"].includes(problem.error);
}

function hasMedia(message: Message): boolean {
  const { photo, document, voice, audio, video, video_note, sticker, location } = message;
  const media = [photo, document, voice, audio, video, video_note, sticker, location];
  return media.some((one) => one !== undefined);
}
