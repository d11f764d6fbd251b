/** Refusals between machines, in both directions, and the notices about them. */

import * as z from "zod";
import type { Monotonic } from "kit/core/clock.ts";
import { cleanLine, tryJson } from "kit/core/text.ts";
import type { Context } from "../../data/context.ts";

/** Interval at which a refused machine is notified. */
export const NOTICE_MS = 60_000;
/** A refusal ends after this time without a repetition or another notice. */
export const REFUSAL_MS_MAX = 3 * NOTICE_MS;
/** Maximum number of machines that are remembered, for each direction; others are not shown. */
const MACHINES_MAX = 2000;
const TEXT_LENGTH_MAX = 500;

/** The reason for which a machine refuses another machine, or a part of its announcement. */
export interface RefusalText {
  readonly reason: string;
  readonly detail: string;
  readonly hint: string;
}

interface MachineRefusal extends RefusalText {
  /** The refused machine; for the other direction, the machine that refuses this one. */
  readonly daemon_id: string;
  /** Its name; null if it could not be read. */
  readonly name: string | null;
  /** Time of the last refusal, by this machine's clock. */
  readonly at: number;
}

/** A refusal, with its time by the monotonic clock. */
interface TimedRefusal extends MachineRefusal {
  readonly renewed_at: Monotonic;
}

interface OwnRefusal extends TimedRefusal {
  /** True if the machine's version understands notices of refusals. */
  readonly can_hear: boolean;
  readonly notified_at: number;
  /** True if only a part of its entry is left out, so that the machine itself is accepted. */
  readonly is_partial: boolean;
}

const Notice = z.object({
  to: z.string(),
  reason: z.string().max(64),
  detail: z.string().max(TEXT_LENGTH_MAX),
  hint: z.string().max(TEXT_LENGTH_MAX),
});

export class MachineRefusals {
  readonly #ctx: Pick<Context, "clock" | "log">;
  readonly #me: string;
  readonly #refused = new Map<string, OwnRefusal>();
  readonly #refusedBy = new Map<string, TimedRefusal>();

  constructor(ctx: Pick<Context, "clock" | "log">, daemon_id: string) {
    this.#ctx = ctx;
    this.#me = daemon_id;
  }

  /** The machines that this one refuses now. */
  get refused(): MachineRefusal[] {
    return [...this.#current(this.#refused)].map(toShown);
  }

  /** The machines that refuse this one now. */
  get refused_by(): MachineRefusal[] {
    return [...this.#current(this.#refusedBy)].map(toShown);
  }

  /**
   * True if the machine was refused as a whole within the last minute. An unreadable entry may come
   * from any machine, so it does not count.
   */
  isRefused(daemon_id: string): boolean {
    const refused = this.#refused.get(daemon_id);
    return !!refused && !refused.is_partial && refused.name !== null &&
      this.#ctx.clock.monotonic() - refused.renewed_at < NOTICE_MS;
  }

  /** Records that this machine refuses another one, or a part of its entry. */
  refuse(
    daemon_id: string,
    text: RefusalText,
    { name = null, can_hear, is_partial = false }: {
      readonly name?: string | null;
      readonly can_hear: boolean;
      readonly is_partial?: boolean;
    },
  ): void {
    const before = this.#refused.get(daemon_id);
    if (!before && this.#refused.size >= MACHINES_MAX) return;
    const notified_at = before?.reason === text.reason ? before.notified_at : -Infinity;
    const own = { daemon_id, name, can_hear, notified_at, is_partial };
    this.#refused.set(daemon_id, { ...text, ...own, ...this.#times() });
  }

  /** Removes the refusal of a machine that was accepted or forgotten. */
  accept(daemon_id: string): void {
    this.#refused.delete(daemon_id);
  }

  /** Renews a partial refusal, which lasts while the machine is online. */
  stillRefused(daemon_id: string): void {
    const refused = this.#refused.get(daemon_id);
    if (refused?.is_partial) this.#refused.set(daemon_id, { ...refused, ...this.#times() });
  }

  /** The notices that are due now. Counts them as sent. */
  takeDue(): { readonly to: string; readonly notice: Uint8Array }[] {
    const now = this.#ctx.clock.monotonic();
    const due = [...this.#current(this.#refused)].filter(({ can_hear, notified_at }) =>
      can_hear && now - notified_at >= NOTICE_MS
    );
    return due.map((refused) => {
      const { daemon_id: to, reason } = refused;
      this.#refused.set(to, { ...refused, notified_at: now });
      const detail = refused.detail.slice(0, TEXT_LENGTH_MAX);
      const hint = refused.hint.slice(0, TEXT_LENGTH_MAX);
      const notice: z.input<typeof Notice> = { to, reason, detail, hint };
      return { to, notice: new TextEncoder().encode(JSON.stringify(notice)) };
    });
  }

  /** Handles an authenticated notice of another machine that it refuses this one. */
  receiveNotice(
    by: { readonly daemon_id: string; readonly name: string },
    notice: Uint8Array,
  ): void {
    const { data } = Notice.safeParse(tryJson(new TextDecoder().decode(notice)));
    if (data?.to !== this.#me) return;
    const { daemon_id, name } = by;
    const before = this.#refusedBy.get(daemon_id);
    if (!before && this.#refusedBy.size >= MACHINES_MAX) return;
    const { reason } = data;
    const detail = cleanLine(data.detail), hint = cleanLine(data.hint);
    this.#refusedBy.set(daemon_id, { daemon_id, name, reason, detail, hint, ...this.#times() });
    if (before?.reason === reason) return;
    const message = "Another machine refuses this one";
    this.#ctx.log.warn(message, { daemon_id, name, reason, detail, hint });
  }

  #times(): Pick<TimedRefusal, "at" | "renewed_at"> {
    const { clock } = this.#ctx;
    return { at: clock.now(), renewed_at: clock.monotonic() };
  }

  *#current<Kind extends TimedRefusal>(refusals: Map<string, Kind>): Generator<Kind> {
    const now = this.#ctx.clock.monotonic();
    for (const [daemon_id, refusal] of [...refusals]) {
      if (now - refusal.renewed_at >= REFUSAL_MS_MAX) refusals.delete(daemon_id);
      else yield refusal;
    }
  }
}

function toShown({ daemon_id, name, reason, detail, hint, at }: MachineRefusal): MachineRefusal {
  return { daemon_id, name, reason, detail, hint, at };
}
