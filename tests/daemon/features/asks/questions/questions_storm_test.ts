/** Random asks, answers, disconnects and restarts; the invariants are checked after each run. */

import assert from "node:assert/strict";
import * as askRows from "../../../../../daemon/features/asks/store.ts";
import { waitingIds } from "../../../../../daemon/features/asks/store.ts";
import type { World } from "../../../../support/world.ts";
import { addPeer, post } from "../../../../support/daemon/peer_clients.ts";
import { PERMISSION, restartableDaemon } from "../../../../support/daemon/blocking_questions.ts";

const SEEDS = [1, 2, 3, 4];
const STEPS = 80;
const ENDS = ["answered", "acknowledged", "declined", "denied", "cancelled", "failed", "timed_out"];

/** Seeded random numbers (mulberry32). */
function chance(seed: number) {
  let state = seed;
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

interface Line {
  readonly id: string;
  readonly gone: AbortController;
  readonly answer: Promise<Record<string, unknown> | undefined>;
}

class Storm implements AsyncDisposable {
  readonly #at = restartableDaemon();
  readonly #roll: (below: number) => number;
  /** Permissions that were given by a call that succeeded. */
  readonly #allowed = new Set<string>();
  #lines: Line[] = [];
  #askCount = 0;
  w: World;

  constructor(seed: number) {
    this.#roll = chance(seed);
    this.w = this.#at.start();
  }

  async begin(): Promise<void> {
    await addPeer(this.w, "bob");
  }

  async step(): Promise<void> {
    const id = `id-${this.#roll(this.#askCount + 1)}`;
    const answer = (path: string, more: object) =>
      post(this.w, path, { correlation_id: id, ...more });
    const steps = [
      ...Array(5).fill(() => this.#hold(`id-${++this.#askCount}`)),
      () => this.#hold(id),
      () => this.#allow(id),
      () => this.#allow(id),
      () => answer("/answer", { option_id: "deny" }),
      () => answer("/answer", { outcome: "denied" }),
      () => answer("/answer", { text: "perhaps" }),
      () => answer("/ack", {}),
      () => answer("/decline", { reason: "No" }),
      () => post(this.w, `/asks/${id}/cancel`, { peer_id: "cli" }),
      () => this.#lines[this.#roll(this.#lines.length || 1)]?.gone.abort(),
      () => this.w.tick([1, 5, 20][this.#roll(3)]),
      () => this.#query(),
      () => this.#roll(4) === 0 ? this.#restart() : undefined,
    ];
    await steps[this.#roll(steps.length)]?.();
    await this.w.clock.settle();
    this.#check();
  }

  /** Every caller gets a response in the end, and no wait is left. */
  async end(): Promise<void> {
    await this.w.daemon.shutDown();
    await this.#collect();
    assert.deepEqual(waitingIds(this.w.daemon.ctx.db), []);
    assert.deepEqual(this.#open(), []);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.w[Symbol.asyncDispose]();
    this.#at[Symbol.dispose]();
  }

  #hold(id: string): void {
    const timeout_seconds = 1 + this.#roll(30);
    this.#request(id, "/questions/ask-blocking", {
      ...PERMISSION,
      correlation_id: id,
      timeout_seconds,
    });
  }

  #query(): void {
    this.#request("", "/query", { to_peer: "bob", text: "Hi", timeout_seconds: this.#roll(10) });
  }

  #request(id: string, path: string, body: object): void {
    const gone = new AbortController();
    const init = { method: "POST", body: JSON.stringify(body), signal: gone.signal };
    const answer = this.w.fetch(path, init).then((response) => response.json(), () => undefined);
    this.#lines.push({ id, gone, answer });
  }

  async #allow(id: string): Promise<void> {
    const { status } = await post(this.w, "/answer", { correlation_id: id, option_id: "allow" });
    if (status === 200) this.#allowed.add(id);
  }

  async #restart(): Promise<void> {
    await this.w[Symbol.asyncDispose]();
    await this.#collect();
    this.w = this.#at.start();
  }

  /** Checks the responses: each caller that stayed connected got the recorded outcome. */
  async #collect(): Promise<void> {
    for (const { id, gone, answer } of this.#lines.splice(0)) {
      const waiterResult = await answer;
      if (gone.signal.aborted || id === "") continue;
      assert.ok(ENDS.includes(String(waiterResult?.["outcome"])), JSON.stringify(waiterResult));
      assert.equal(waiterResult?.["option_id"] === "allow", this.#allowed.has(id), id);
    }
  }

  #open(): string[] {
    const page = { state: "open", peer_id: null, before: Number.MAX_SAFE_INTEGER, limit: 10_000 };
    return askRows.page(this.w.daemon.ctx.db, page).map(({ correlation_id }) => correlation_id);
  }

  #check(): void {
    const { ctx } = this.w.daemon;
    assert.deepEqual(
      waitingIds(ctx.db),
      this.#open().toSorted(),
      "The open questions are those with a wait",
    );
    const ended = ctx.events.read({ since: 0, limit: 100_000, type: "ack" })
      .map(({ data }) => "correlation_id" in data ? data.correlation_id : "");
    assert.equal(new Set(ended).size, ended.length, "A question ended twice");
    assert.deepEqual(this.w.logged, []);
  }
}

for (const seed of SEEDS) {
  Deno.test(`each blocking question ends once and permits only what was allowed (seed ${seed})`, async () => {
    await using storm = new Storm(seed);
    await storm.begin();
    for (let step = 1; step <= STEPS; step++) {
      try {
        await storm.step();
      } catch (error) {
        throw new Error(`Storm of seed ${seed} broke at step ${step}`, { cause: error });
      }
    }
    await storm.end();
  });
}
