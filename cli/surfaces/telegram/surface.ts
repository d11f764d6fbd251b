/** The Telegram surface: items from the daemon into the chat, what the person does back again. */

import { pause } from "kit/core/timeout.ts";
import { Misconfigured } from "../../client/daemon_client.ts";
import { type BotApi, BotFault, POLL_SECONDS, type Update } from "./bot_api.ts";
import { Line, type LineNeeds } from "./connection.ts";
import { Backoff, type Chance } from "./backoff.ts";
import { isAway, Person, type PersonNeeds } from "./chat.ts";
import { Pushes } from "./pushes.ts";
import { SURFACE } from "./rendering.ts";

export interface SurfaceNeeds extends Chance, Pick<LineNeeds, "dial" | "url"> {
  readonly bot: BotApi;
  readonly call: PersonNeeds["call"];
  readonly auth_token: string | undefined;
  say(what: string): void;
}

const RETRY_MS_MAX = 30_000;
/** How many numbers of updates are remembered; Telegram keeps what is unconfirmed for a day. */
const CARRIED_MAX = 1_000;
const AWAY = "The daemon is away. I pass this on as soon as it is back.";

export class TelegramSurface {
  readonly #needs: SurfaceNeeds;
  readonly #line: Line;
  readonly #pushes: Pushes;
  readonly #person: Person;
  readonly #carried = new Set<number>();
  #trouble: string | undefined;

  constructor(needs: SurfaceNeeds) {
    const { auth_token, say } = needs;
    this.#needs = needs;
    this.#line = new Line({
      ...needs,
      greeting: () => ({
        display_name: SURFACE,
        backend: "sdk",
        capabilities: ["inbox_surface"],
        ...(auth_token !== undefined && { auth_token }),
      }),
      item: (frame) => this.#pushes.take(frame),
    });
    this.#pushes = new Pushes({
      ...needs,
      receipt: (receipt) => this.#line.send(receipt),
      reoffer: () => this.#line.renew(),
    });
    this.#person = new Person({ ...needs, pushes: this.#pushes, say });
  }

  /** Runs until the signal aborts. Throws what no waiting mends: a refused token, a rival. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController(), hang_up = new AbortController();
    const both = AbortSignal.any([signal, stop.signal]);
    const faults: unknown[] = [];
    const part = async (running: Promise<void>) => {
      try {
        await running;
      } catch (fault) {
        if (!both.aborted) faults.push(fault);
        stop.abort(new Error("Stopped"));
      }
    };
    const line = part(this.#line.run(hang_up.signal));
    await Promise.all([part(this.#pushes.run(both)), part(this.#listen(both))]);
    hang_up.abort(new Error("Stopped"));
    await line;
    if (faults.length > 0) throw explained(faults[0]);
  }

  /** The long poll. An update is confirmed by the next one, once it was carried. */
  async #listen(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(this.#needs, RETRY_MS_MAX);
    for (let offset: number | undefined; !signal.aborted;) {
      const updates = await this.#poll(offset, signal);
      if (!updates) {
        await backoff.pause(signal);
        continue;
      }
      backoff.reset();
      // Numbers may begin anew after a week of silence: with nothing to confirm, none is named.
      if (updates.length === 0) offset = undefined;
      for (const update of updates) {
        if (!this.#carried.has(update.update_id)) await this.#carry(update, signal);
        if (signal.aborted) return;
        this.#remember(update.update_id);
        offset = update.update_id + 1;
      }
    }
  }

  /** Undefined when Telegram did not answer, or let somebody else poll. */
  async #poll(offset: number | undefined, signal: AbortSignal): Promise<Update[] | undefined> {
    try {
      // After trouble an answer is wanted at once, to know that it is over.
      const seconds = this.#trouble === undefined ? POLL_SECONDS : 0;
      const updates = await this.#needs.bot.getUpdates({ offset, seconds }, signal);
      if (this.#trouble !== undefined) this.#needs.say("Telegram answers again");
      this.#trouble = undefined;
      return updates;
    } catch (fault) {
      if (signal.aborted) return undefined;
      if (!(fault instanceof BotFault) || fault.error_class === "unauthorized") throw fault;
      const rival = fault.error_class === "conflict" ? "Somebody else polls this bot: " : "";
      if (this.#trouble !== fault.message) {
        this.#needs.say(`${rival}${fault.message}; trying again`);
      }
      this.#trouble = fault.message;
      const { retry_after_ms } = fault;
      if (retry_after_ms) await pause(this.#needs.clock, retry_after_ms, signal);
      return undefined;
    }
  }

  /** Carries one update, and waits for as long as the daemon is away. */
  async #carry(update: Update, signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(this.#needs, RETRY_MS_MAX);
    const { message, callback_query } = update;
    for (let tried_at: number | undefined; !signal.aborted;) {
      const now = this.#needs.clock.now();
      try {
        if (message) await this.#person.message(message, signal, tried_at);
        if (callback_query) await this.#person.tap(callback_query, signal);
        return;
      } catch (fault) {
        if (signal.aborted) return;
        if (!isAway(fault)) throw fault;
        if (tried_at === undefined) await this.#person.tell(AWAY, signal);
        tried_at ??= now;
        await backoff.pause(signal);
      }
    }
  }

  #remember(update_id: number): void {
    this.#carried.add(update_id);
    const [oldest] = this.#carried;
    if (this.#carried.size > CARRIED_MAX && oldest !== undefined) this.#carried.delete(oldest);
  }
}

/** As the person at the terminal is to read it. */
function explained(fault: unknown): unknown {
  if (fault instanceof BotFault && fault.error_class === "unauthorized") {
    return new Misconfigured(`surfaces.telegram.token: Telegram refuses it: ${fault.message}`);
  }
  return fault;
}
