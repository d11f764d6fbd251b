/** The entries of other machines in the directory, and when each expires. */

import type { KV } from "@nats-io/kv";
import type { Clock } from "kit/core/clock.ts";
import { DAEMON_ID, ENTRY_MS_MAX } from "./names.ts";

interface KnownEntry {
  /** The entry's number and time at the server. */
  version: string;
  /** On this machine's clock. */
  seen_at: number;
}

/**
 * Outlives the connections. An entry that is not written again expires 60 s later on this machine's
 * clock, because the server does not report entries that it removes by age.
 */
export class BusDirectory {
  readonly #clock: Clock;
  readonly #announced: (daemonId: string, entry: Uint8Array | null) => void;
  /** The oldest entry first. */
  readonly #known = new Map<string, KnownEntry>();
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, announced: (daemonId: string, entry: Uint8Array | null) => void) {
    this.#clock = clock;
    this.#announced = announced;
  }

  /** Reads all entries and then each change, until it is stopped by the returned function. */
  async watch(kv: KV, me: string, ended: (error: unknown) => void): Promise<() => void> {
    const entries = await kv.watch();
    void (async () => {
      for await (const { key, operation, value, revision, created } of entries) {
        if (key === me || !DAEMON_ID.test(key)) continue;
        if (operation === "PUT") this.#see(key, `${revision} ${created.getTime()}`, value);
        else this.#forget(key);
      }
    })().then(() => ended(new Error("the watch of the directory ended")), ended);
    return () => entries.stop();
  }

  close(): void {
    this.#cancel?.();
  }

  /** A repeated reading of an old entry does not prolong it. */
  #see(daemonId: string, version: string, entry: Uint8Array): void {
    if (this.#known.get(daemonId)?.version === version) return;
    this.#known.delete(daemonId);
    this.#known.set(daemonId, { version, seen_at: this.#clock.monotonic() });
    this.#setTimer();
    this.#announced(daemonId, entry);
  }

  #forget(daemonId: string): void {
    if (this.#known.delete(daemonId)) this.#announced(daemonId, null);
  }

  /** One timer for the oldest entry. */
  #setTimer(): void {
    this.#cancel?.();
    const [oldest] = this.#known.values();
    if (!oldest) return;
    const wait_ms = Math.max(0, oldest.seen_at + ENTRY_MS_MAX - this.#clock.monotonic());
    this.#cancel = this.#clock.setTimer(wait_ms, () => this.#expire());
  }

  #expire(): void {
    const now = this.#clock.monotonic();
    for (const [daemonId, { seen_at }] of this.#known) {
      if (now - seen_at < ENTRY_MS_MAX) break;
      this.#forget(daemonId);
    }
    this.#setTimer();
  }
}
