import assert from "node:assert/strict";
import { join as pathOf } from "node:path";
import { countingIds, FakeClock } from "kit/clock.ts";
import type { Outbound } from "../../daemon/delivery/ws/frames.ts";
import { FakeProcesses, type FakeSocket, type World, world } from "../world.ts";
import { post } from "./cast.ts";

const SEEDS = [1, 2, 3, 4];
const STEPS = 150;
const NAMES = ["ada", "bob", "eve", "tom"];
const WORD = "sesame";

/** Numbers that a seed decides (mulberry32). */
function chance(seed: number) {
  let state = seed;
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

type Message = Extract<Outbound, { delivery_id: string; text: string }>;

class Storm implements AsyncDisposable {
  readonly #directory = Deno.makeTempDirSync();
  readonly #shared = { clock: new FakeClock(), ids: countingIds(), processes: new FakeProcesses() };
  readonly #roll: (below: number) => number;
  readonly #sockets = new Map<string, FakeSocket>();
  /** What each client with receipts applied, in its order, each delivery once. */
  readonly #applied = new Map<string, Map<string, string>>();
  readonly #asks: string[] = [];
  readonly #settled = new Map<string, string>();
  #said = 0;
  #last = 0;
  w: World;

  constructor(seed: number) {
    this.#roll = chance(seed);
    this.w = this.#start();
  }

  async step(): Promise<void> {
    const steps = [
      ...Array(5).fill(() => this.#say("/notify")),
      ...Array(4).fill(() => this.#say("/ask")),
      ...Array(3).fill(() => this.#connect()),
      ...Array(3).fill(() => this.#receipts()),
      () => this.#answer("/ack", { message: WORD }),
      () => this.#answer("/decline", { reason: WORD }),
      () => this.#sockets.get(this.#name())?.drop(),
      () => post(this.w, "/broadcast", { from_peer: this.#name(), text: WORD }),
      () => post(this.w, `/peers/${this.#name()}/provenance`, { addressable: this.#roll(3) > 0 }),
      () => post(this.w, `/peers/${this.#name()}/offline`, { terminal: this.#roll(4) === 0 }),
      () => this.w.beat([1, 31, 61, 700, 90_000][this.#roll(5)]),
      () => this.#restart(),
    ];
    await steps[this.#roll(steps.length)]?.();
    await this.w.clock.settle();
    this.#collect();
    this.#check();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.w[Symbol.asyncDispose]();
    Deno.removeSync(this.#directory, { recursive: true });
  }

  #start(): World {
    return world({ ...this.#shared, db_path: pathOf(this.#directory, "mesh.db") });
  }

  #name(): string {
    return NAMES[this.#roll(NAMES.length)] ?? "ada";
  }

  async #say(path: string): Promise<void> {
    const text = `${WORD} ${String(++this.#said).padStart(6, "0")}`;
    const body = { from_peer: this.#name(), to_peer: this.#name(), text };
    const { correlation_id } = await post(this.w, path, body);
    if (correlation_id) this.#asks.push(correlation_id);
  }

  async #answer(path: string, more: object): Promise<void> {
    const correlation_id = this.#asks[this.#roll(this.#asks.length || 1)];
    if (correlation_id) await post(this.w, path, { correlation_id, ...more });
  }

  async #connect(): Promise<void> {
    const name = this.#name();
    if (this.#sockets.get(name)?.closed === undefined && this.#sockets.has(name)) return;
    this.#collect();
    const socket = this.w.socket();
    this.#sockets.set(name, socket);
    await socket.connect({ display_name: name, capabilities: ["delivery_receipts"] });
  }

  async #receipts(): Promise<void> {
    for (const socket of this.#sockets.values()) {
      for (const frame of socket.frames) {
        if (!("delivery_id" in frame) || this.#roll(3) === 0) continue;
        const { delivery_id } = frame;
        await socket.say({ type: "delivery_ack", delivery_id, status: "accepted" });
      }
    }
  }

  async #restart(): Promise<void> {
    await this.w[Symbol.asyncDispose]();
    await this.w.clock.settle();
    this.#collect();
    this.#sockets.clear();
    this.w = this.#start();
  }

  /** What the clients read since the last time: a repeated delivery is dropped by its id. */
  #collect(): void {
    for (const socket of this.#sockets.values()) {
      const connected = socket.of("connected")[0];
      if (!connected) continue;
      const applied = this.#applied.getOrInsertComputed(connected.peer_id, () => new Map());
      for (const frame of socket.frames) {
        if (!("from_peer_id" in frame) || !("text" in frame)) continue;
        const { delivery_id, from_peer, text } = frame as Message;
        const known = applied.get(delivery_id);
        assert.ok(
          known === undefined || known === `${from_peer} ${text}`,
          "An id changed its text",
        );
        applied.set(delivery_id, `${from_peer} ${text}`);
      }
    }
  }

  #check(): void {
    const { daemon } = this.w;
    const { db } = daemon.ground;
    const list = daemon.delivery.list({ peer_id: null, state: null, limit: 1_000_000 });
    const counts = Object.values(daemon.delivery.counts()).reduce((sum, count) => sum + count, 0);
    assert.equal(list.length, counts, "Every message is in exactly one state");
    assert.equal(new Set(list.map(({ delivery_id }) => delivery_id)).size, list.length);
    for (const { state, to_peer_id } of list) {
      if (state !== "queued") continue;
      const peer = daemon.directory.resolve(to_peer_id);
      assert.ok(peer.addressable && peer.status !== "retired", "Queued for one who takes none");
    }
    assert.deepEqual(daemon.delivery.audit().unaccounted, []);
    this.#checkEvents();
    this.#checkOrder();
    assert.deepEqual(this.w.logged, []);
    assert.equal(db.durable(), undefined, "A group stayed open");
  }

  #checkEvents(): void {
    const { events } = this.w.daemon.ground;
    for (const event of events.read({ since: this.#last, limit: 100_000 })) {
      assert.ok(event.id > this.#last, "Numbers rise");
      this.#last = event.id;
      assert.equal(JSON.stringify(event).includes(WORD), false, "An event holds a text");
      if (event.type !== "ack") continue;
      const { correlation_id, close_reason } = event.data;
      assert.equal(this.#settled.has(correlation_id), false, "An ask settled twice");
      this.#settled.set(correlation_id, close_reason);
    }
    for (
      const { correlation_id, state, close_reason } of this.w.daemon.asks.page({
        ...{ state: null, peer_id: null, before: Number.MAX_SAFE_INTEGER, limit: 100_000 },
      }).asks
    ) {
      assert.equal(state === "closed", this.#settled.has(correlation_id));
      if (state === "closed") assert.equal(this.#settled.get(correlation_id), close_reason);
    }
  }

  /** Asks and notes of one sender bear rising numbers: a client applies them in that order. */
  #checkOrder(): void {
    for (const [peer_id, applied] of this.#applied) {
      const heard = new Map<string, string>();
      for (const text of applied.values()) {
        const [, from = "", number = ""] = /^(\S+) sesame (\d{6})$/.exec(text) ?? [];
        if (number === "") continue;
        assert.ok((heard.get(from) ?? "") < number, `Out of order at ${peer_id}: ${text}`);
        heard.set(from, number);
      }
    }
  }
}

for (const seed of SEEDS) {
  Deno.test(`whatever happens, nothing is lost, doubled or told out of order (seed ${seed})`, async () => {
    await using storm = new Storm(seed);
    for (let step = 1; step <= STEPS; step++) {
      try {
        await storm.step();
      } catch (fault) {
        throw new Error(`Storm of seed ${seed} broke at step ${step}`, { cause: fault });
      }
    }
  });
}
