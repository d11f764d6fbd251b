/** The bus on a NATS server with JetStream: connects, and reconnects without limit. */

import type { Context } from "../../data/context.ts";
import { backoffMs, pause } from "kit/core/timeout.ts";
import { type Bus, BusError, type BusListener, type BusStatus, ForwardingBus } from "../bus.ts";
import { type Address, parseAddresses } from "./addresses.ts";
import { type ConnectionOptions, connectTo } from "./connection.ts";
import { BusDirectory } from "./directory.ts";
import type { NatsConnection } from "./libraries.ts";
import { BusLink } from "./link.ts";
import { reasonOf } from "./reasons.ts";
import { Session } from "./session.ts";
import { DEFAULT_LIMITS, type StoreLimits } from "./store.ts";

/** Between two attempts to connect. */
const RECONNECT_MS = { first: 500, max: 30_000 };

export interface NatsBusOptions extends ConnectionOptions {
  /** See `parseAddresses`. */
  readonly url: string;
  /** Of the store, if this machine has to make it. */
  readonly limits?: StoreLimits;
}

export type NatsBusContext = Pick<Context, "clock" | "ids" | "log">;

/** Opens a bus, which connects in the background. Throws a `TypeError` for a malformed address. */
export function openNatsBus(
  ctx: NatsBusContext,
  options: NatsBusOptions,
  listener: BusListener,
): Bus {
  return new NatsBus(ctx, options, listener);
}

class NatsBus extends ForwardingBus implements Bus {
  readonly #ctx: NatsBusContext;
  readonly #options: NatsBusOptions;
  readonly #listener: BusListener;
  /** The server that was connected last comes first. */
  #addresses: readonly Address[];
  readonly #directory: BusDirectory;
  readonly #closed = new AbortController();
  readonly #running: Promise<void>;
  #status: BusStatus;
  #session: Session | undefined;
  /** The link of the connection that is open or being made. */
  #link: BusLink | undefined;

  constructor(ctx: NatsBusContext, options: NatsBusOptions, listener: BusListener) {
    super();
    this.#ctx = ctx;
    this.#options = options;
    this.#listener = listener;
    this.#addresses = parseAddresses(options.url);
    this.#directory = new BusDirectory(
      ctx.clock,
      (daemonId, entry) => listener.announced(daemonId, entry),
    );
    this.#status = { status: "connecting", since: ctx.clock.now(), reason: null };
    this.#running = this.#run();
  }

  status(): BusStatus {
    return this.#status;
  }

  canBeat(): boolean {
    return this.#session?.canBeat ?? false;
  }

  heardAt(): number | null {
    return this.#session ? this.#link?.heard_at ?? null : null;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#directory.close();
    if (this.#session) await this.#session.close();
    else this.#link?.destroy();
    await this.#running;
  }

  protected override opened(): Session {
    if (this.#session) return this.#session;
    throw new BusError("unreachable", this.#status.reason ?? "The bus is not connected yet", "no");
  }

  async #run(): Promise<void> {
    const { clock, ids } = this.#ctx;
    const { signal } = this.#closed;
    for (let failures = 0; !signal.aborted;) {
      const address = await this.#connect();
      if (this.#session && address) {
        failures = 0;
        this.#change("connected", null);
        const error = await this.#session.ended;
        const session = this.#session;
        this.#session = undefined;
        if (!signal.aborted) this.#change("down", await reasonOf(address, error));
        await session.close();
      }
      if (signal.aborted) return;
      const delay_ms = backoffMs(ids, { ...RECONNECT_MS, failures: failures++ });
      await pause(clock, delay_ms, signal);
    }
  }

  /** Tries each address once; returns the one that is connected. */
  async #connect(): Promise<Address | undefined> {
    const { signal } = this.#closed;
    const reasons: string[] = [];
    for (const address of this.#addresses) {
      try {
        const link = this.#link = new BusLink(this.#ctx.clock);
        const connection = await connectTo(address, this.#options, link);
        if (signal.aborted) return void link.destroy();
        this.#session = await this.#open(connection, link);
        this.#addresses = [address, ...this.#addresses.filter((known) => known !== address)];
        return address;
      } catch (error) {
        if (signal.aborted) return undefined;
        reasons.push(await reasonOf(address, error));
      }
    }
    this.#change("down", reasons.join(". "));
    return undefined;
  }

  #open(connection: NatsConnection, link: BusLink): Promise<Session> {
    return Session.open(connection, {
      ...this.#ctx,
      daemonId: this.#options.daemonId,
      limits: this.#options.limits ?? DEFAULT_LIMITS,
      directory: this.#directory,
      listener: this.#listener,
      link,
    });
  }

  #change(status: BusStatus["status"], reason: string | null): void {
    const last = this.#status;
    if (last.status === status && last.reason === reason) return;
    const since = last.status === status ? last.since : this.#ctx.clock.now();
    this.#status = { status, since, reason };
    this.#listener.changed(this.#status);
  }
}
