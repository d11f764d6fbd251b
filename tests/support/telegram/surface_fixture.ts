/** The fixture of the Telegram tests: a surface between a fake Bot API and a fake daemon. */

import { client } from "kit/http/client.ts";
import type { Clock } from "kit/core/clock.ts";
import { Secret } from "kit/core/settings.ts";
import { DaemonUnreachable } from "../../../cli/client/daemon_client.ts";
import { BotApi } from "../../../surfaces/telegram/bot_api.ts";
import type { SocketListener } from "../../../cli/client/daemon_connection.ts";
import { TelegramSurface } from "../../../surfaces/telegram/surface.ts";
import { replyByRef, replyInboxItem } from "protocol/inbox.ts";
import { FakeAttachments } from "./fake_attachments.ts";
import { countingIds } from "../ids.ts";
import { CHAT, FakeBotApi, TOKEN } from "./fake_bot_api.ts";
import { SwiftClock } from "../swift_clock.ts";

type Fields = Record<string, unknown>;
type Item = Fields & { item_id: string; pushes: Fields[] };

/** A fake daemon: frames on a socket, and the inbox routes. */
export class FakeMesh {
  readonly items: Item[] = [];
  readonly receipts: Fields[] = [];
  readonly connects: Fields[] = [];
  readonly pongs: Fields[] = [];
  readonly replies: Fields[] = [];
  readonly reads: string[] = [];
  readonly attachments = new FakeAttachments();
  dials = 0;
  up = true;
  /** True if it completes the closing handshake of the surface. */
  closesOnHangUp = true;
  /**
   * The outcomes of the next requests, but not of lookups of one item: a refusal, or a lost answer
   * after the work is done.
   */
  readonly outcomes: ("ok" | "lost" | { status: number; error: string; detail: string })[] = [];
  #listener: SocketListener | undefined;
  #count = 0;
  readonly #clock: Clock;
  /** The name of the surface that connects. */
  readonly #surface: string;
  /** The answers of requests with an idempotency key. */
  readonly #answers = new Map<string, { body: string; answer: Fields }>();

  constructor(clock: Clock, surface = "telegram") {
    this.#clock = clock;
    this.#surface = surface;
  }

  readonly connect = (_: URL, listener: SocketListener) => {
    this.dials++;
    if (!this.up) queueMicrotask(() => listener.closed(1006, ""));
    else {
      queueMicrotask(() => {
        this.#listener = listener;
        listener.opened();
      });
    }
    const hangUp = () => {
      if (this.#listener === listener) this.#listener = undefined;
      if (this.closesOnHangUp) listener.closed(1000, "");
    };
    return { send: (text: string) => this.#receive(JSON.parse(text)), close: hangUp };
  };

  get connected(): boolean {
    return this.#listener !== undefined;
  }

  /** Closes the connection, as a daemon does that stops or rejects the surface. */
  close(code: number): void {
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.closed(code, "");
  }

  sendFrame(frame: Fields | string): void {
    this.#listener?.received(typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  /** Creates an inbox item and offers it to the surface. */
  item(more: Fields = {}): Item {
    const item_id = `inb-${(++this.#count).toString(16).padStart(12, "0")}`;
    const item = {
      item_id,
      kind: "ask",
      from: "ada",
      from_peer_id: "peer-1",
      correlation_id: `ask-${this.#count}`,
      text: "Ready?",
      attachments: [],
      question: null,
      read: false,
      read_at: null,
      read_by: null,
      replied: false,
      replied_at: null,
      snoozed_until: null,
      created_at: "2030-01-01T00:00:00.000Z",
      pushes: [],
      open: true,
      ...more,
    };
    this.items.push(item);
    this.sendItem(item);
    return item;
  }

  /** Ends the ask of an item elsewhere, and tells the surface. */
  end(item: Item, outcome: string, more: Fields = {}): void {
    Object.assign(item, { state: "closed", outcome, open: false, read: true, ...more });
    const pushes = this.#pushesOf(item).map((push) => ({ error_class: null, ...push }));
    this.sendFrame({ type: "inbox_update", item: { ...item, pushes } });
  }

  sendItem(item: Item, more: Fields = {}): void {
    const delivery_id = `qd-${item.item_id.slice(4)}`;
    this.sendFrame({ type: "inbox_item", delivery_id, item, reply_to_ref: null, ...more });
  }

  /** Answers a request to an inbox route. */
  readonly fetch = async (request: Request): Promise<Response> => {
    if (!this.up) throw new DaemonUnreachable("http://daemon", undefined);
    const file = await this.attachments.answer(request);
    if (file) return file;
    const text = await request.text();
    const url = new URL(request.url);
    const isLookup = request.method === "GET" && url.pathname !== "/inbox";
    const outcome = isLookup ? undefined : this.outcomes.shift();
    if (typeof outcome === "object") return Response.json(outcome, { status: outcome.status });
    const key = request.headers.get("idempotency-key");
    const known = key === null ? undefined : this.#answers.get(key);
    if (known && known.body !== text) return refusal(422, "idempotency_mismatch", "Another body");
    const answer = known ? Response.json(known.answer) : this.#route(
      `${request.method} ${url.pathname}`,
      text ? JSON.parse(text) : {},
      url,
    );
    if (key !== null && answer.ok) {
      this.#answers.set(key, { body: text, answer: await answer.clone().json() });
    }
    if (outcome === "lost") throw new DaemonUnreachable("http://daemon", undefined);
    return answer;
  };

  readonly call = client("http://daemon", this.fetch);
  readonly daemon = {
    url: "http://daemon",
    get: (path: string, init?: RequestInit) =>
      this.fetch(new Request(`http://daemon${path}`, init)),
  };

  #receive(frame: Fields): void {
    if (frame["type"] === "connect") {
      this.connects.push(frame);
      this.sendFrame({ type: "connected", peer_id: "peer-t", display_name: frame["display_name"] });
      const unpushed = this.items.filter((item) =>
        this.#pushesOf(item)[0]?.["status"] !== "pushed"
      );
      for (const item of unpushed) this.sendItem(item);
    } else if (frame["type"] === "pong") this.pongs.push(frame);
    else this.receipts.push(frame);
  }

  #route(route: string, body: Fields, url: URL): Response {
    if (route === "GET /inbox") return Response.json(this.#list(url.searchParams));
    if (route === "POST /inbox/reply") return this.#replyByRef(replyByRef.body.parse(body));
    const [, verb, id, what] = /^(\w+) \/inbox\/([\w-]+)\/?(\w*)$/.exec(route) ?? [];
    const item = this.items.find(({ item_id }) => item_id === id);
    if (!item) return refusal(404, "unknown_item", `Unknown inbox item: ${id}`);
    if (verb === "GET") return Response.json(item);
    if (what === "reply") return this.#reply(item, replyInboxItem.body.parse(body));
    item["read"] = true;
    this.reads.push(item.item_id);
    return Response.json({ ok: true });
  }

  #list(query: URLSearchParams) {
    const items = this.items.toReversed().filter((item) => !query.get("unread") || !item["read"])
      .map((item) => ({ ...item, pushes: this.#pushesOf(item) }));
    const human = { human: "sam", human_peer_id: "peer-sam" };
    return { ...human, items: items.slice(0, Number(query.get("limit") ?? 50)) };
  }

  /** The receipts of an item, the last one first. */
  #pushesOf({ item_id }: Item): Fields[] {
    const receipt = this.receipts.findLast(({ delivery_id }) =>
      delivery_id === `qd-${item_id.slice(4)}`
    );
    return receipt ? [{ surface: this.#surface, ...receipt }] : [];
  }

  #replyByRef(body: Fields): Response {
    const item = this.items.find((item) =>
      this.#pushesOf(item).some(({ surface_refs }) =>
        Array.isArray(surface_refs) && surface_refs.includes(body["surface_ref"])
      )
    );
    return item ? this.#reply(item, body) : refusal(404, "unknown_surface_ref", "Never shown");
  }

  #reply(item: Item, body: Fields): Response {
    const isOver = item["state"] === "closed" && item["question"] !== null;
    if (isOver && !body["as_new_ask"]) {
      return refusal(410, "already_closed", `${item["correlation_id"]} is closed`);
    }
    this.replies.push({ item_id: item.item_id, ...body });
    item["read"] = true;
    const open = item["open"];
    if (!open && body["text"] === "") {
      return Response.json({ action: "read", correlation_id: null });
    }
    item["open"] = false;
    item["replied"] = true;
    item["replied_at"] = new Date(this.#clock.now()).toISOString();
    const action = !open ? "asked" : item["question"] ? "answered" : "acked";
    return Response.json({ action, correlation_id: item["correlation_id"] });
  }
}

function refusal(status: number, error: string, detail: string): Response {
  return Response.json({ error, detail }, { status });
}

export type SurfaceFixture = Awaited<ReturnType<typeof surfaceFixture>>;

/** A running surface; dispose it with `await using`. */
export async function surfaceFixture(
  before: (parts: { bot: FakeBotApi; mesh: FakeMesh }) => void = () => {},
) {
  const clock = new SwiftClock();
  const bot = new FakeBotApi(clock), mesh = new FakeMesh(clock);
  const printed: string[] = [];
  before({ bot, mesh });
  const ids = countingIds();
  const options = { base: "http://bot.test", token: new Secret(TOKEN), chat_id: String(CHAT) };
  const surface = () =>
    new TelegramSurface({
      clock,
      ids,
      bot: new BotApi({ ...options, clock, fetch: bot.fetch }),
      call: mesh.call,
      daemon: mesh.daemon,
      connect: mesh.connect,
      url: () => "http://daemon",
      auth_token: "0123456789abcdef",
      log: (what) => printed.push(what),
    });
  let stop = new AbortController();
  let running = surface().run(stop.signal);
  // `ended()` reports a failure; this only prevents an unhandled rejection.
  running.catch(() => {});
  const settle = async () => {
    for (let turn = 0; turn < 5; turn++) await clock.settle();
  };
  const end = async () => {
    stop.abort(new Error("Over"));
    await running;
  };
  await settle();
  return {
    clock,
    bot,
    mesh,
    printed,
    settle,
    /** Resolves or rejects when the run has ended. */
    ended: () => running,
    /** Stops the surface and starts another one. */
    async restart() {
      await end();
      stop = new AbortController();
      running = surface().run(stop.signal);
      running.catch(() => {});
      await settle();
    },
    async advance(ms: number) {
      await clock.advance(ms);
      await settle();
    },
    [Symbol.asyncDispose]: () => end().catch(() => {}),
  };
}
