/** The surface's connection to the daemon (contract 4): made again for ever, pings answered. */

import * as z from "zod";
import { pause } from "kit/core/timeout.ts";
import { tryJson } from "kit/core/text.ts";
import { Failed } from "../../client/failures.ts";
import { Backoff, type Chance } from "./backoff.ts";
import { ShownItem } from "./rendering.ts";

/** One connection, as little of it as is needed here. */
export interface Socket {
  send(text: string): void;
  close(): void;
}

export interface Ears {
  opened(): void;
  heard(text: string): void;
  /** Once, also when the connection was never made. */
  closed(code: number, reason: string): void;
}

export type Dial = (url: URL, ears: Ears) => Socket;

const Frame = z.discriminatedUnion("type", [
  z.object({ type: z.literal("connected"), display_name: z.string() }),
  z.object({
    type: z.literal("inbox_item"),
    delivery_id: z.string(),
    item: ShownItem,
    reply_to_ref: z.string().nullable().default(null),
  }),
  z.object({ type: z.literal("ping"), ping_id: z.string() }),
  z.object({ type: z.literal("error"), error: z.string(), detail: z.string() }),
]);
type Frame = z.output<typeof Frame>;
const Named = z.object({ type: z.string() });
export type ItemFrame = Extract<Frame, { type: "inbox_item" }>;

/** The daemon pings every 20 s; one that says nothing for so long is gone. */
const SILENCE_MS_MAX = 70_000;
const RETRY_MS_MAX = 15_000;
/** How long the other end may take to close; after that the line is given up. */
const CLOSE_MS_MAX = 1_000;
const GIVEN_UP = 1006;

/** Closes after which another attempt would end the same way (contract 4). */
const FINAL: Readonly<Record<number, string>> = {
  4001: "The daemon refuses our token: see daemon.auth_token",
  4002: "The daemon refuses our greeting",
  4004: "The daemon has retired this surface",
  4009: "Another surface of this name has connected; one is enough",
};

export interface LineNeeds extends Chance {
  readonly dial: Dial;
  /** Where the daemon is now: after a restart it may be elsewhere. Undefined where none is. */
  url(): string | undefined;
  /** The first frame. */
  greeting(): Record<string, unknown>;
  item(frame: ItemFrame): void;
  say(what: string): void;
}

export class Line {
  readonly #needs: LineNeeds;
  readonly #backoff: Backoff;
  #socket: Socket | undefined;
  #away = false;
  /** What the daemon complained of last. */
  #complaint: string | undefined;

  constructor(needs: LineNeeds) {
    this.#needs = needs;
    this.#backoff = new Backoff(needs, RETRY_MS_MAX);
  }

  /** Writes a frame; nothing happens while the daemon is away. */
  send(frame: object): void {
    this.#socket?.send(JSON.stringify(frame));
  }

  /** Hangs up, and connects again: the daemon then offers what was not shown. */
  renew(): void {
    this.#socket?.close();
  }

  /** Connects, and connects again, until the signal aborts or the daemon will not have us. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const code = await this.#once(signal);
      if (signal.aborted) return;
      const final = FINAL[code];
      if (final) throw new Failed(this.#complaint ? `${final}: ${this.#complaint}` : final);
      if (!this.#away) this.#needs.say(this.#complaint ?? "The daemon is away; waiting for it");
      this.#away = true;
      await this.#backoff.pause(signal);
    }
  }

  /** One connection from its beginning to its end; the code it closed with. */
  async #once(signal: AbortSignal): Promise<number> {
    const { dial, url, greeting } = this.#needs;
    const { promise: closed, resolve } = Promise.withResolvers<number>();
    const over = new AbortController();
    let heard = false;
    const at = url();
    if (at === undefined) return GIVEN_UP;
    const address = new URL("/ws", at.replace(/^http/, "ws"));
    const socket = dial(address, {
      opened: () => socket.send(JSON.stringify({ type: "connect", ...greeting() })),
      heard: (text) => {
        heard = true;
        if (!over.signal.aborted) this.#hear(text, socket);
      },
      closed: resolve,
    });
    const hangUp = () => {
      // What was written last goes out before the line is closed.
      socket.close();
      pause(this.#needs.clock, CLOSE_MS_MAX, over.signal).then(() => resolve(GIVEN_UP));
    };
    signal.addEventListener("abort", hangUp, { signal: over.signal });
    const watch = this.#watch(over.signal, () => heard ? (heard = false) : hangUp());
    try {
      return await closed;
    } finally {
      over.abort();
      this.#socket = undefined;
      await watch;
    }
  }

  async #watch(over: AbortSignal, look: () => void): Promise<void> {
    while (!over.aborted) {
      await pause(this.#needs.clock, SILENCE_MS_MAX / 2, over);
      if (!over.aborted) look();
    }
  }

  #hear(text: string, socket: Socket): void {
    const { say, item } = this.#needs;
    const json = tryJson(text);
    const frame = Frame.safeParse(json);
    if (!frame.success) {
      // A daemon may say more than a surface understands; an item it must not lose in silence.
      if (Named.safeParse(json).data?.type === "inbox_item") say("An item has an unknown form");
      return;
    }
    switch (frame.data.type) {
      case "connected":
        this.#socket = socket;
        if (this.#away) say("The daemon is back");
        this.#away = false;
        this.#complaint = undefined;
        return this.#backoff.reset();
      case "inbox_item":
        return item(frame.data);
      case "ping":
        return socket.send(JSON.stringify({ type: "pong", ping_id: frame.data.ping_id }));
      case "error":
        this.#complaint = frame.data.detail;
        return;
    }
  }
}

/** A real WebSocket. */
export const dialWebSocket: Dial = (url, ears) => {
  const socket = new WebSocket(url);
  socket.onopen = () => ears.opened();
  socket.onmessage = ({ data }) => ears.heard(String(data));
  // An attempt that fails says so in `onerror`, and closes as well.
  socket.onclose = ({ code, reason }) => ears.closed(code, reason);
  return {
    send: (text) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(text);
    },
    close: () => socket.close(),
  };
};
