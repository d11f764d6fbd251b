/**
 * Ensures one daemon for each daemon id. Before it takes part in the bus, each run asks whether
 * another run of the same id is live. It stops as soon as another run has taken over.
 */

import * as z from "zod";
import { hasPassed, type Monotonic } from "kit/core/clock.ts";
import { Instant } from "kit/core/schema.ts";
import { cleanLine, tryJson } from "kit/core/text.ts";
import type { Context } from "../data/context.ts";
import { BusError, IdentityInUse, type NewConnection } from "./bus.ts";
import { type MachineKeys, sign, SIGNATURE_BYTES, toVerifyKey, verify } from "./trust/keys.ts";
import type { NetworkKeys } from "./trust/network.ts";
import { open, seal } from "./trust/sealing.ts";

/** Time limit for the answer of a live run. */
const ANSWER_MS_MAX = 2000;
/**
 * Time for which a run may continue without proof that no other run has taken over. After a
 * suspension, a run finds that this time has passed, and asks before it applies anything.
 */
export const HOLD_MS = 10_000;
/** Interval at which a run renews that proof. */
const PROVE_MS = 4000;
/** A run that has not answered for this time is dead, or must ask again when it wakes up. */
export const TAKEOVER_MS = HOLD_MS + 1000;
/** Time in which runs that start together hear of each other. */
const SETTLE_MS = 200;
/** Time for which a refused run waits, so that the first run can restart. */
export const RESTART_MS = 30_000;
/** Time for which the attempt of another run is shown. */
const RIVAL_MS_MAX = 5 * 60_000;
const CONTEXT = "mesh run 1";
const NONCE_BYTES = 8;
const PLACE_LENGTH_MAX = 512;

const Statement = z.object({
  /** `claim` asks to take part, `taken` takes part now; `held` answers: another run takes part. */
  kind: z.enum(["claim", "taken", "held"]),
  run: z.string().regex(/^[0-9a-f]{16}$/),
  nonce: z.string().regex(/^[0-9a-f]{16}$/),
  started_at: Instant,
  /** The place of the daemon, for people. */
  place: z.string().max(PLACE_LENGTH_MAX).transform(cleanLine),
});
type Statement = z.output<typeof Statement>;

/** Another run with this machine's id. */
interface OtherRun {
  readonly place: string;
  readonly started_at: number;
  /** Time of its last message, by this machine's clock. */
  readonly at: number;
  readonly heard_at: Monotonic;
}

/** An instant by two clocks: a suspension stops the monotonic one, a user may set the other. */
interface Moment {
  readonly at: number;
  readonly monotonic: Monotonic;
}

interface RunClaimDeps {
  readonly daemon_id: string;
  readonly keys: MachineKeys;
  readonly network: NetworkKeys;
  /** The place of this daemon, for people: host and state directory. */
  readonly place: string;
  /** Called with null once this run takes part, or with the start of this run if it is refused. */
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
  /** True if this run took part before: a silent connection is then probably its own old one. */
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
    this.#stopped.promise.catch(() => undefined); // Handled also if no claim waits.
  }

  /** The run that holds this machine's identity instead of this run. */
  get holder(): OtherRun | undefined {
    return this.#holder;
  }

  /** Another run that claimed the identity within the last minutes. */
  get rival(): OtherRun | undefined {
    const rival = this.#rival;
    return rival && this.#ctx.clock.monotonic() - rival.heard_at < RIVAL_MS_MAX ? rival : undefined;
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** See `BusListener.admit`. The run that was live first keeps the identity. */
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
      // An earlier version answers at once, because it does not know the call.
      const spent_ms = clock.monotonic() - asked_at;
      await Promise.race([clock.sleep(ANSWER_MS_MAX - spent_ms), this.#stopped.promise]);
    }
    const asked_at = this.#moment();
    this.#isClaiming = true;
    try {
      connection.listen();
      const outcome = await this.#ask(connection, "taken", SETTLE_MS);
      const otherRun = typeof outcome === "string" ? this.#precedent : outcome;
      if (otherRun) this.#refuse(otherRun);
    } finally {
      this.#isClaiming = false;
    }
    this.#isHeld = this.#wasHeld = true;
    this.#proved = asked_at;
    this.#holder = undefined;
    this.#deps.decided(null);
  }

  /** Answers a statement from this machine's own id; null for no answer. */
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
    else if (this.#isHeld) void this.#prove().catch(() => undefined); // The other run asks again.
    return null;
  }

  /** Throws `IdentityInUse`, or rejects with it. A promise is returned only for too old a proof. */
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

  /** Cancels a pending claim. */
  stop(): void {
    this.#stopped.reject(new BusError("unreachable", "This machine disconnects", "no"));
  }

  /** Among runs that claim together, the run that started first wins. */
  #precedes({ started_at, run }: Statement): boolean {
    return this.#started_at < started_at || (this.#started_at === started_at && this.run < run);
  }

  /** True if the last proof is younger than `within_ms` by both clocks. */
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
   * Proves the identity by a round trip: before the server answers, it has sent everything that
   * came earlier, and `receive` has handled a claim of another run.
   */
  #prove(): Promise<void> {
    return this.#proving ??= (async () => {
      const asked_at = this.#moment();
      await this.#deps.roundTrip();
      if (!this.#isHeld) throw this.#inUse();
      this.#proved = asked_at;
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

  /** Throws while the first run may be restarting after a crash. */
  #leaveTimeToRestart(): void {
    const holder = this.#holder;
    const { clock } = this.#ctx;
    if (holder && clock.monotonic() - holder.heard_at < RESTART_MS) throw this.#inUse();
  }

  #refuse({ place, started_at }: Statement): never {
    this.#holder = this.#heard(place, started_at);
    // Only a run that never took part is a copy. Other runs still send what they accepted.
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

  /** A statement signed with this machine's keys; undefined for anything else. */
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
