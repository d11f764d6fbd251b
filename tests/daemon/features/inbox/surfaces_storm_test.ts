/** A surface over random disconnects and restarts, checked against a model. */

import assert from "node:assert/strict";
import { join as pathOf } from "node:path";
import fc from "fast-check";
import { FakeClock } from "../../../support/clock.ts";
import { countingIds } from "../../../support/ids.ts";
import { FakeProcesses, type FakeSocket, type World, world } from "../../../support/world.ts";
import { ask, get, notify } from "../../../support/daemon/peer_clients.ts";
import { type Item, sendReceipt, sentItems, surface } from "../../../support/daemon/surfaces.ts";

type StormAction = (storm: Storm, index: number) => unknown;

/** A surface with lost connections and restarts, and a record of its frames and receipts. */
class Storm implements AsyncDisposable {
  readonly #directory = Deno.makeTempDirSync();
  readonly #shared = { clock: new FakeClock(), ids: countingIds(), processes: new FakeProcesses() };
  readonly shown = new Set<string>();
  readonly #deliveryOf = new Map<string, string>();
  readonly #checked = new WeakMap<FakeSocket, number>();
  #textCount = 0;
  w: World;
  socket: FakeSocket | undefined;

  constructor() {
    this.w = this.#start();
  }

  #start() {
    const db_path = pathOf(this.#directory, "mesh.db");
    return world({ settings: { "human.name": "sam" }, db_path, ...this.#shared });
  }

  note = () => notify(this.w, "ada", "sam", String(++this.#textCount));
  ask = () => ask(this.w, "ada", "sam", String(++this.#textCount));

  async connect(): Promise<FakeSocket> {
    return this.socket = await surface(this.w, "phone");
  }

  async drop(): Promise<void> {
    await this.socket?.drop();
    this.socket = undefined;
  }

  async restart(): Promise<void> {
    await this.w[Symbol.asyncDispose]();
    this.socket = undefined;
    this.w = this.#start();
  }

  /** Sends a receipt of one of this connection's frames, shown already or not. */
  async sendReceiptFor(status: "pushed" | "failed", index: number): Promise<void> {
    const frames = this.socket ? sentItems(this.socket) : [];
    const frame = frames[index % frames.length];
    if (!frame || !this.socket || this.socket.closed) return; // It was closed for missing pongs.
    const { delivery_id, item: { item_id } } = frame;
    await sendReceipt(this.socket, delivery_id, {
      status,
      surface_ref: `${index}`,
      error_class: "x",
    });
    if (status === "pushed") this.shown.add(item_id);
  }

  /** Each connection gets items in order, each once, always under the same id. */
  check(): void {
    if (!this.socket) return;
    const frames = sentItems(this.socket);
    const order = frames.map(({ item }) => Number(item.text));
    assert.deepEqual(order, [...new Set(order)].sort((a, b) => a - b));
    for (const { delivery_id, item } of frames.slice(this.#checked.get(this.socket) ?? 0)) {
      assert.equal(this.shown.has(item.item_id), false, `${item.text} was sent again`);
      const known = this.#deliveryOf.get(item.item_id) ?? delivery_id;
      assert.equal(delivery_id, known);
      this.#deliveryOf.set(item.item_id, known);
    }
    this.#checked.set(this.socket, frames.length);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.w[Symbol.asyncDispose]();
    Deno.removeSync(this.#directory, { recursive: true });
  }
}

const ACTIONS: readonly StormAction[] = [
  (storm) => storm.note(),
  (storm) => storm.note(),
  (storm) => storm.ask(),
  (storm) => storm.connect(),
  (storm) => storm.drop(),
  (storm) => storm.restart(),
  (storm) => storm.w.tick(61),
  (storm, index) => storm.sendReceiptFor("pushed", index),
  (storm, index) => storm.sendReceiptFor("pushed", index),
  (storm, index) => storm.sendReceiptFor("failed", index),
];

const action = fc.tuple(fc.nat(ACTIONS.length - 1), fc.nat(20));

Deno.test("over lost connections and restarts, a surface gets every item until it has shown it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 20, maxLength: 60 }), async (actions) => {
      await using storm = new Storm();
      await storm.connect();
      for (const [which, index] of actions) {
        await ACTIONS[which]?.(storm, index);
        await storm.w.clock.settle();
        storm.check();
      }
      const last = await storm.connect();
      storm.check();
      for (const { delivery_id } of sentItems(last)) await sendReceipt(last, delivery_id);
      const { items } = await get(storm.w, "/inbox?limit=500");
      const statuses = items.map(({ pushes }: Item) => pushes.map(({ status }) => status));
      assert.deepEqual(statuses, items.map(() => ["pushed"]));
      const states = Object.keys(storm.w.daemon.deliveryAudit.counts());
      assert.deepEqual(states, items.length > 0 ? ["accepted"] : []);
      assert.deepEqual(storm.w.logged, []);
    }),
    { numRuns: 5 },
  );
});
