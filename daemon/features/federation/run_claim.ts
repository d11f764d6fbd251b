/**
 * One daemon for one daemon id: each run asks, before it takes part in the bus, whether another run
 * of the same id is live, and stops as soon as another one has taken its place.
 */

import * as z from "zod";
import { hasPassed, type Monotonic } from "kit/core/clock.ts";
import { Instant } from "kit/core/schema.ts";
import { cleanLine, tryJson } from "kit/core/text.ts";
import type { Context } from "kit/data/context.ts";
import { BusError, IdentityInUse, type NewConnection } from "../../host/bus.ts";
import {
  type MachineKeys,
  sign,
  SIGNATURE_BYTES,
  toVerifyKey,
  verify,
} from "../machines/trust/keys.ts";
import type { NetworkKeys } from "../machines/trust/network.ts";
import { open, seal } from "../machines/trust/sealing.ts";

/** How long a live run may take to answer. */
const ANSWER_MS_MAX = 2000;
/**
 * How long a run may go on without proof that no other one has taken its place. A run whose process
 * was stopped finds on waking that this time has passed, and asks before it applies anything.
 */
export const HOLD_MS = 10_000;
/** How often it gets that proof. */
const PROVE_MS = 4000;
/** A run that does not answer for this long is dead, or has found on waking that it must ask. */
export const TAKEOVER_MS = HOLD_MS + 1000;
/** How long runs that start at the same time may take to hear of each other. */
const SETTLE_MS = 200;
/** How long a run that was refused leaves the place to a restart of the one that had it. */
export const RESTART_MS = 30_000;
/** How long an attempt of another run is shown. */
const RIVAL_MS_MAX = 5 * 60_000;
const CONTEXT = "mesh run 1";
const NONCE_BYTES = 8;
const PLACE_LENGTH_MAX = 512;

const Statement = z.object({
  /** `claim`: may I take part; `taken`: I do; `held`: the answer of the run that takes part. */
  kind: z.enum(["claim", "taken", "held"]),
  run: z.string().regex(/^[0-9a-f]{16}$/),
  nonce: z.string().regex(/^[0-9a-f]{16}$/),
  started_at: Instant,
  /** Where the daemon runs, for people. */
  place: z.string().max(PLACE_LENGTH_MAX).transform(cleanLine),
});
type Statement = z.output<typeof Statement>;

/** Another run with this machine's id. */
export interface OtherRun {
  readonly place: string;
  readonly started_at: number;
  /** When it was heard last, by this machine's clock. */
  readonly at: number;
  readonly heard_at: Monotonic;
}

/** A moment by both clocks: a suspension stops one, and setting the clock moves the other. */
interface Moment {
  readonly at: number;
  readonly monotonic: Monotonic;
}

export interface RunClaimDeps {
  readonly daemon_id: string;
  readonly keys: MachineKeys;
  readonly network: NetworkKeys;
  /** Where this daemon runs, for people: host and state directory. */
  readonly place: string;
  /** Whether this run takes part; if it was refused, when it was started. */
  decided(refused_since: number | null): void;
  /** Rejects with a `BusError` while the bus cannot be reached. */
  roundTrip(): Promise<unknown>;
}

export class RunClaim {
  readonly #ctx: Pick<Context, "clock" | "ids" | "log">;
  readonly #deps: RunClaimDeps;
  readonly #started_at: number;
  /** New at each start. */
  readonly run: string;
  #isHeld = false;
  /** Whether this run took part before: a silent connection is then likely its own last one. */
  #wasHeld = false;
  #isClaiming = false;
  /** A run that claims at the same time as this one, and started before it. */
  #precedent: Statement | undefined;
  #proved: Moment | undefined;
  #proving: Promise<void> | undefined;
  #holder: OtherRun | undefined;
  #rival: OtherRun | undefined;
  readonly #stopped = Promise.withResolvers<never>();

  constructor(ctx: Pick<Context, "clock" | "ids" | "log">, deps: RunClaimDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.run = ctx.ids.hex(8);
    this.#started_at = ctx.clock.now();
    this.#stopped.promise.catch(() => undefined); // Nothing may be waiting for it.
  }

  /** The run that has this machine's identity in the place of this one. */
  get holder(): OtherRun | undefined {
    return this.#holder;
  }

  /** Another run that wanted to take part within the last minutes. */
  get rival(): OtherRun | undefined {
    const rival = this.#rival;
    return rival && this.#ctx.clock.monotonic() - rival.heard_at < RIVAL_MS_MAX ? rival : undefined;
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** See `BusListener.admit`. The run that was live first stays. */
  async admit(connection: NewConnection): Promise<void> {
    const { clock } = this.#ctx;
    this.#isHeld = false;
    this.#precedent = undefined;
    const began_at = clock.monotonic();
    for (;;) {
      const asked_at = clock.monotonic();
      const outcome = await this.#ask(connection, "claim", ANSWER_MS_MAX);
      if (outcome === "nobody") {
        this.#leaveTimeToRestart();
        break;
      }
      if (outcome !== "silent") this.#refuse(outcome);
      if (this.#wasHeld || clock.monotonic() - began_at >= TAKEOVER_MS) break;
      // An earlier version refuses at once what it cannot answer.
      const spent_ms = clock.monotonic() - asked_at;
      await Promise.race([clock.sleep(ANSWER_MS_MAX - spent_ms), this.#stopped.promise]);
    }
    const asked = this.#moment();
    this.#isClaiming = true;
    try {
      connection.listen();
      const outcome = await this.#ask(connection, "taken", SETTLE_MS);
      const other = typeof outcome === "string" ? this.#precedent : outcome;
      if (other) this.#refuse(other);
    } finally {
      this.#isClaiming = false;
    }
    this.#isHeld = this.#wasHeld = true;
    this.#proved = asked;
    this.#holder = undefined;
    this.#deps.decided(null);
  }

  /** Answers what comes from this machine's own id; null if nothing is to be answered. */
  receive(frame: Uint8Array): Uint8Array | null {
    const statement = this.#open(frame);
    if (!statement || statement.run === this.run || statement.kind === "held") return null;
    const { place, started_at, kind, nonce } = statement;
    const isFirst = this.#isHeld
      ? this.#isProved(HOLD_MS)
      : this.#isClaiming && this.#precedes(statement);
    if (isFirst) {
      if (!this.rival) {
        this.#ctx.log.warn("Another daemon with the identity of this machine was refused", {
          place,
        });
      }
      this.#rival = this.#heard(place, started_at);
      return this.#seal("held", nonce);
    }
    if (kind === "taken" && this.#isHeld) {
      this.#isHeld = false;
      this.#holder = this.#heard(place, started_at);
      this.#ctx.log.warn("Another daemon has taken the identity of this machine", { place });
    } else if (kind === "taken" && this.#isClaiming) this.#precedent = statement;
    else if (this.#isHeld) void this.#prove().catch(() => undefined); // It asks again.
    return null;
  }

  /**
   * Throws `IdentityInUse`, or rejects with it, if another run has taken the place of this one. A
   * promise only where the last proof is too old.
   */
  mustHold(): Promise<void> | undefined {
    if (!this.#isHeld) throw this.#inUse();
    return this.#isProved(HOLD_MS) ? undefined : this.#prove();
  }

  /** Called once a second. */
  tick(): void {
    if (!this.#isHeld || this.#isProved(PROVE_MS)) return;
    this.#prove().catch((error) => {
      if (!(error instanceof BusError || error instanceof IdentityInUse)) {
        this.#ctx.log.error("The identity of this machine could not be proved", { error });
      }
    });
  }

  /** Ends a claim that waits. */
  stop(): void {
    this.#stopped.reject(new BusError("unreachable", "This machine disconnects", "no"));
  }

  /** Of runs that claim at the same time, the one that started first stays. */
  #precedes({ started_at, run }: Statement): boolean {
    return this.#started_at < started_at || (this.#started_at === started_at && this.run < run);
  }

  /** Whether the last proof is younger than this by both clocks. */
  #isProved(within_ms: number): boolean {
    const { clock } = this.#ctx;
    return this.#proved !== undefined && !hasPassed(within_ms, this.#proved.at, clock.now()) &&
      clock.monotonic() - this.#proved.monotonic < within_ms;
  }

  #moment(): Moment {
    const { clock } = this.#ctx;
    return { at: clock.now(), monotonic: clock.monotonic() };
  }

  #heard(place: string, started_at: number): OtherRun {
    const { at, monotonic } = this.#moment();
    return { place, started_at, at, heard_at: monotonic };
  }

  /**
   * The server has sent everything before it answers, the claim of another run included, which
   * `receive` has taken by then.
   */
  #prove(): Promise<void> {
    return this.#proving ??= (async () => {
      const asked = this.#moment();
      await this.#deps.roundTrip();
      if (!this.#isHeld) throw this.#inUse();
      this.#proved = asked;
    })().finally(() => this.#proving = undefined);
  }

  async #ask(
    connection: NewConnection,
    kind: "claim" | "taken",
    timeout_ms: number,
  ): Promise<Statement | "nobody" | "silent"> {
    const nonce = this.#ctx.ids.hex(NONCE_BYTES);
    try {
      const call = connection.call(this.#seal(kind, nonce), timeout_ms);
      const answer = this.#open(await Promise.race([call, this.#stopped.promise]));
      const isAnswer = answer?.kind === "held" && answer.nonce === nonce;
      return isAnswer && answer.run !== this.run ? answer : "silent";
    } catch (error) {
      if (!(error instanceof BusError && error.reason === "no_answer")) throw error;
      return error.stored === "no" ? "nobody" : "silent";
    }
  }

  /** The run that was live first may have crashed, or be restarted, and then goes on. */
  #leaveTimeToRestart(): void {
    const holder = this.#holder;
    const { clock } = this.#ctx;
    if (holder && clock.monotonic() - holder.heard_at < RESTART_MS) throw this.#inUse();
  }

  #refuse({ place, started_at }: Statement): never {
    this.#holder = this.#heard(place, started_at);
    // A run that took part sends what it accepted: only one that never did is a copy.
    if (!this.#wasHeld) this.#deps.decided(this.#started_at);
    throw this.#inUse();
  }

  #inUse(): IdentityInUse {
    const place = this.#holder?.place ?? "unknown";
    return new IdentityInUse(
      `another daemon has the identity ${this.#deps.daemon_id} and was connected first (${place}); ` +
        "this one is a copy: stop one of them, or run `mesh machines renew-identity` here",
    );
  }

  #seal(kind: Statement["kind"], nonce: string): Uint8Array {
    const { daemon_id, keys, network, place } = this.#deps;
    const statement: z.input<typeof Statement> = {
      kind,
      run: this.run,
      nonce,
      started_at: z.encode(Instant, this.#started_at),
      place: place.slice(0, PLACE_LENGTH_MAX),
    };
    const bytes = new TextEncoder().encode(JSON.stringify(statement));
    const signed = new Uint8Array(SIGNATURE_BYTES + bytes.length);
    signed.set(sign(keys, [CONTEXT, daemon_id], bytes));
    signed.set(bytes, SIGNATURE_BYTES);
    return seal(network.directory_key, CONTEXT, signed, this.#ctx.ids);
  }

  /** A statement that a holder of this machine's keys made; undefined for anything else. */
  #open(frame: Uint8Array): Statement | undefined {
    const { daemon_id, keys, network } = this.#deps;
    const signed = open(network.directory_key, CONTEXT, frame);
    if (!signed) return undefined;
    const bytes = signed.subarray(SIGNATURE_BYTES);
    const key = toVerifyKey(keys.public.sign);
    const isOwn = verify(key, [CONTEXT, daemon_id], bytes, signed.subarray(0, SIGNATURE_BYTES));
    if (!isOwn) return undefined;
    return Statement.safeParse(tryJson(new TextDecoder().decode(bytes))).data;
  }
}
