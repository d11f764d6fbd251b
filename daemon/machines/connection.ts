/** The connection to the bus: opens the bus, reports its status, and passes calls on to it. */

import type { Context } from "../data/context.ts";
import { isProblem } from "protocol/problems.ts";
import { cleanLine, messageOf } from "kit/core/text.ts";
import { backoffMs, timeout } from "kit/core/timeout.ts";
import {
  type Bus,
  type BusBacklog,
  BusError,
  type BusListener,
  type BusStatus,
  ForwardingBus,
  type NewConnection,
} from "./bus.ts";
import type { BusReport } from "protocol/machines.ts";
import { busConnectionMachine, type BusConnectionState } from "./states.ts";

const BACKOFF_MS = { first: 1000, max: 60_000 };
/** The reason of a failure may be text from the server, and is stored in an event. */
const REASON_LENGTH_MAX = 300;
/** Time for which a measurement is used. */
const MEASURED_MS_MAX = 5000;
/** Maximum time of a measurement. */
const MEASURING_MS_MAX = 2000;

/** Opens a bus, which connects in the background and after a loss by itself. */
export type OpenBus = (listener: BusListener) => Promise<Bus>;

/** The part of the report that the connection itself knows. */
type ConnectionReport = Omit<BusReport, "identity_in_use" | "refused" | "refused_by">;

interface BusConnectionOptions
  extends Pick<BusReport, "daemon_id" | "name" | "fingerprint" | "shared_circles"> {
  readonly url: string;
}

interface Measurement extends BusBacklog {
  readonly at: number;
  readonly latency_ms: number;
}

const EVENTS = { connecting: "opened", connected: "accepted", down: "failed" } as const;

export class BusConnection extends ForwardingBus implements Bus {
  readonly #ctx: Context;
  readonly #options: BusConnectionOptions;
  readonly #openBus: OpenBus;
  #listener: BusListener | undefined;
  #bus: Bus | undefined;
  #opening: Promise<void> | undefined;
  #cancelRetry: () => void = () => undefined;
  #isClosed = false;
  #failures = 0;
  #state: BusConnectionState = "down";
  #since: number;
  #reason: string | null = null;
  /** The last published status: a bus that stays away is reported only once. */
  #reported: BusConnectionState | undefined;
  #measured: Measurement | undefined;

  constructor(ctx: Context, options: BusConnectionOptions, openBus: OpenBus) {
    super();
    this.#ctx = ctx;
    this.#options = options;
    this.#openBus = openBus;
    this.#since = ctx.clock.now();
  }

  /** Opens the bus, and passes its reports to the listener. */
  start(listener: BusListener): void {
    this.#listener = listener;
    this.#opening = this.#open(listener);
  }

  status(): BusStatus {
    return { status: this.#state, since: this.#since, reason: this.#reason };
  }

  /** The connection as people see it. The server is asked at most every few seconds. */
  async report(): Promise<ConnectionReport> {
    await this.#measure();
    const measured = this.#state === "connected" ? this.#measured : undefined;
    return {
      ...this.#options,
      status: this.#state,
      since: this.#since,
      reason: this.#reason,
      latency_ms: measured?.latency_ms ?? null,
      last_heard_at: this.heardAt(),
      waiting_at_bus: measured?.waiting ?? null,
      bytes_at_bus: measured?.bytes ?? null,
      bytes_at_bus_max: measured?.max_bytes ?? null,
    };
  }

  canBeat(): boolean {
    return this.#bus?.canBeat() ?? false;
  }

  heardAt(): number | null {
    return this.#bus?.heardAt() ?? null;
  }

  /** Resolves when the bus is closed; nothing is reported after the call. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelRetry();
    await this.#opening;
    const bus = this.#bus;
    this.#bus = undefined;
    await bus?.close();
  }

  protected override opened(): Bus {
    if (this.#bus) return this.#bus;
    throw new BusError("unreachable", this.#reason ?? "The bus is not connected yet", "no");
  }

  async #open(listener: BusListener): Promise<void> {
    this.#change("connecting", null);
    try {
      const bus = await this.#openBus({
        batch: (from, batch) => listener.batch(from, batch),
        call: (from, request) => listener.call(from, request),
        ...(listener.admit && { admit: (connection) => this.#admit(listener, connection) }),
        heard: (daemonId, beat) => {
          if (!this.#isClosed) listener.heard?.(daemonId, beat);
        },
        announced: (daemonId, entry) => {
          if (!this.#isClosed) listener.announced(daemonId, entry);
        },
        changed: ({ status, reason }) => this.#change(status, reason),
      });
      this.#bus = bus; // Also after `close`, which waits for it.
      const { status, reason } = bus.status();
      this.#change(status, reason);
    } catch (error) {
      this.#fail(listener, messageOf(error));
    }
  }

  async #admit(listener: BusListener, connection: NewConnection): Promise<void> {
    if (!this.#isClosed) await listener.admit?.(connection);
  }

  /** The bus cannot even be opened: a file is missing, for example. It may come back. */
  #fail(listener: BusListener, why: string): void {
    if (this.#isClosed) return;
    const delay_ms = backoffMs(this.#ctx.ids, { ...BACKOFF_MS, failures: this.#failures++ });
    this.#cancelRetry = this.#ctx.clock.setTimer(delay_ms, () => {
      this.#opening = this.#open(listener);
    });
    this.#change("down", why);
  }

  #change(status: BusConnectionState, why: string | null): void {
    if (this.#isClosed) return;
    if (this.#state !== status) {
      this.#state = busConnectionMachine.step(this.#state, EVENTS[status]);
      this.#since = this.#ctx.clock.now();
    }
    // While it is connecting, the reason of the last failure stays.
    if (status !== "connecting") {
      this.#reason = why === null ? null : cleanLine(why.slice(0, REASON_LENGTH_MAX));
    }
    if (status === "connected") this.#measured = undefined;
    this.#publish();
    this.#listener?.changed(this.status());
  }

  #publish(): void {
    const { db, events, log } = this.#ctx;
    const status = this.#state, reason = this.#reason, { url } = this.#options;
    if (status === "connecting" || this.#reported === status) return;
    this.#reported = status;
    if (status === "down") log.warn("Not connected to the bus", { url, why: reason });
    else log.info("The bus is connected", { url });
    const store = () => events.append("bus_status", { status, url, reason });
    try {
      db.transact(store);
    } catch (error) { // The status holds while the disk is full; the event is stored later.
      if (!isProblem(error, "storage_failed")) throw error;
      db.failures.repeatUntilStored(store);
    }
  }

  async #measure(): Promise<void> {
    const { clock } = this.#ctx;
    const bus = this.#bus, now = clock.monotonic();
    if (!bus || this.#state !== "connected") return;
    if (this.#measured && now - this.#measured.at < MEASURED_MS_MAX) return;
    try {
      const answers = Promise.all([bus.roundTrip(), bus.backlog()]);
      const measured = await timeout(clock, MEASURING_MS_MAX, answers);
      this.#measured = measured && { at: now, latency_ms: measured[0], ...measured[1] };
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      this.#measured = undefined;
      this.#ctx.log.debug("The bus was not measured", { why: error.message });
    }
  }
}
