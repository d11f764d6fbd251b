/** A machine on a real bus: it records what the bus hands to it, and answers as a test says. */

import { type Clock, randomIds, systemClock } from "kit/core/clock.ts";
import { type Bus, BusError, type BusStatus } from "../../../daemon/machines/bus.ts";
import { type NatsBusOptions, openNatsBus } from "../../../daemon/machines/nats/nats_bus.ts";
import { until } from "../waiting.ts";
import { type NatsServer, TEST_LIMITS, type TestMachine } from "./nats_server.ts";

const CONNECT_MS_MAX = 15_000;

const decoder = new TextDecoder();
const encoder = new TextEncoder();

export class BusMachine implements AsyncDisposable {
  readonly bus: Bus;
  readonly id: string;
  /** Batches that were taken, as `FROM TEXT`. */
  readonly batches: string[] = [];
  /** Entries of the directory, as `ID TEXT`, or `ID -`. */
  readonly announced: string[] = [];
  /** Heartbeats, as `ID TEXT`. */
  readonly beats: string[] = [];
  readonly statuses: BusStatus[] = [];
  readonly warnings: string[] = [];
  /** Takes a batch, or rejects it. */
  onBatch: (text: string) => void | Promise<void> = () => undefined;
  onCall: (from: string, text: string) => string | Promise<string> = (from, text) =>
    `${from} asked ${text}`;

  constructor(
    options: NatsBusOptions,
    clock: Clock = systemClock,
    /** As the sources or a bundle have it. */
    open: typeof openNatsBus = openNatsBus,
  ) {
    this.id = options.daemonId;
    const quiet = () => undefined;
    const warn = (what: string) => void this.warnings.push(what);
    const log = { debug: quiet, info: quiet, warn, error: warn };
    this.bus = open({ clock, ids: randomIds, log }, options, {
      batch: async (from, batch) => {
        const text = decoder.decode(batch);
        await this.onBatch(text);
        this.batches.push(`${from} ${text}`);
      },
      call: async (from, request) =>
        encoder.encode(await this.onCall(from, decoder.decode(request))),
      heard: (id, beat) => void this.beats.push(`${id} ${decoder.decode(beat)}`),
      announced: (id, entry) =>
        void this.announced.push(`${id} ${entry ? decoder.decode(entry) : "-"}`),
      changed: (status) => void this.statuses.push(status),
    });
  }

  /** A machine that the server allows, once it is connected. */
  static async join(
    server: NatsServer,
    machine: TestMachine,
    { clock, open, ...options }: Partial<NatsBusOptions> & {
      readonly clock?: Clock;
      readonly open?: typeof openNatsBus;
    } = {},
  ): Promise<BusMachine> {
    const joined = new BusMachine(
      {
        url: server.url,
        credentials: { seed: machine.seed },
        daemonId: machine.daemon_id,
        name: machine.name,
        limits: TEST_LIMITS,
        ...options,
      },
      clock,
      open,
    );
    await joined.waitForConnection();
    return joined;
  }

  async waitForConnection(): Promise<void> {
    await until(
      "the bus to connect",
      () => this.bus.status().status === "connected",
      CONNECT_MS_MAX,
    ).catch((cause) => {
      throw new Error(`Not connected: ${this.bus.status().reason}`, { cause });
    });
  }

  /** Resolves with the reason once the bus is down. */
  async down(): Promise<string> {
    await until("the bus to be down", () => this.bus.status().status === "down");
    return this.bus.status().reason ?? "";
  }

  publish(to: BusMachine | string, text: string, id = text): Promise<void> {
    return this.bus.publish(typeof to === "string" ? to : to.id, id, encoder.encode(text));
  }

  async call(to: BusMachine | string, text: string, timeoutMs = 5000): Promise<string> {
    const id = typeof to === "string" ? to : to.id;
    return decoder.decode(await this.bus.call(id, encoder.encode(text), timeoutMs));
  }

  announce(text: string): Promise<void> {
    return this.bus.announce(encoder.encode(text));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bus.close();
  }
}

/** For `assert.rejects`: an error of the bus with this reason, and whether the bus stored it. */
export function failure(reason: BusError["reason"], stored?: BusError["stored"]) {
  return (error: unknown) =>
    error instanceof BusError && error.reason === reason &&
    (stored === undefined || error.stored === stored);
}
