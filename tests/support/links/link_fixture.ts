/** A machine with one link in a test, which plays the bus and the other machine. */

import assert from "node:assert/strict";
import * as z from "zod";
import { BusError, type BusFailure } from "../../../daemon/machines/bus.ts";
import { type Batch, decodeBatch, encodeBatch } from "../../../daemon/machines/links/batch.ts";
import { LinkedMachine, reversing } from "./linked_machine.ts";
import { countingIds } from "../ids.ts";
import { SwiftClock } from "../swift_clock.ts";

export const OTHER = "dm-other";
export const DAY_MS = 86_400_000;
export const tagOf = (n: number) => n.toString(16).padStart(16, "f");

interface PublishedBatch {
  readonly id: string;
  readonly bytes: Uint8Array;
  readonly batch: Batch;
}

/** A machine whose other machine is the test. */
export class LinkFixture implements Disposable {
  readonly clock = new SwiftClock();
  readonly published: PublishedBatch[] = [];
  /** The bus's next answers; after them it accepts everything. */
  readonly failures: (BusFailure | Promise<void>)[] = [];
  readonly machine: LinkedMachine;

  constructor() {
    const publish = async (_from: string, { id, bytes }: { id: string; bytes: Uint8Array }) => {
      const opened = reversing.open(OTHER, bytes);
      const batch = opened && decodeBatch(opened);
      assert.ok(batch);
      this.published.push({ id, bytes, batch });
      const failure = this.failures.shift();
      if (typeof failure === "string") throw new BusError(failure, "The test says so");
      await failure;
    };
    const bus = { attach: () => undefined, detach: () => undefined, publish };
    this.machine = new LinkedMachine("dm-self", { clock: this.clock, ids: countingIds(), bus });
  }

  get batches(): Batch[] {
    return this.published.map(({ batch }) => batch);
  }

  /** The numbers of the entries in the batches so far. */
  get numbers(): number[][] {
    return this.batches.map(({ entries }) => entries.map(({ body }) => (body as { n: number }).n));
  }

  async append(count: number, padding = ""): Promise<void> {
    for (; count > 0; count--) this.machine.append(OTHER, { padding });
    await this.clock.settle();
  }

  async receive(batch: Partial<Batch>, { isSealed = true } = {}): Promise<void> {
    const says = { resend: false, confirm: false, lost: false };
    const whole = { previous: null, entries: [], applied: null, ...says };
    const bytes = encodeBatch({ ...whole, ...batch });
    const sealed = isSealed ? reversing.seal(OTHER, bytes) : bytes;
    await this.machine.links.receive(OTHER, sealed ?? bytes);
  }

  /** Withdraws the appended entry of a number. */
  withdraw(n: number): boolean {
    const { db, links } = this.machine;
    const tag = db.value(z.string(), "select tag from sent where n = :n", { n });
    assert.ok(tag);
    return db.transact((tx) => links.withdraw(tx, OTHER, tag));
  }

  /** Starts again with what the disk holds; all that was appended is there. */
  crash(): void {
    this.machine.db.flush();
    this.machine.crash();
  }

  /** An entry of the other machine. */
  entry(n: number, { refuse = false, at = this.clock.now() } = {}) {
    return { tag: tagOf(n), kind: "test", at, body: { n, refuse, answer: false } };
  }

  appliedNumbers(): number[] {
    return this.machine.numbers("select n from applied order by seq");
  }

  outcomes(outcome: string): number[] {
    return this.machine.numbers(`select n from outcomes where outcome = '${outcome}' order by n`);
  }

  lastTag(): string | null {
    return this.batches.at(-1)?.entries.at(-1)?.tag ?? null;
  }

  [Symbol.dispose](): void {
    this.machine[Symbol.dispose]();
  }
}

export function connectedLink(): LinkFixture {
  const fixture = new LinkFixture();
  fixture.machine.connect();
  return fixture;
}
