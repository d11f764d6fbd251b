/** Notifies askers that the turn in which their ask was read has ended without an answer. */

import type { Context } from "../../data/context.ts";
import { cleanLine } from "kit/core/text.ts";
import type { TurnEnd } from "../agents/adapter.ts";
import type { RoutingPorts } from "../asks/routing/router.ts";
import type { Ask } from "protocol/asks/contract.ts";
import * as asks from "../asks/store.ts";
import * as ledger from "../messages/ledger/ledger.ts";
import { identOf } from "../messages/ledger/rows.ts";
import { insertStage, stagesOf } from "../messages/ledger/stages.ts";
import type { TurnEvidence } from "../peers/turn_end.ts";
import type { Notifications } from "./notifications.ts";

/** Maximum number of an agent's asks that are reported at once. */
const ASKS_MAX = 20;

/** The stage of a trace, and what the asker reads, for each end without an answer. */
const ENDS = {
  interrupted: { stage: "turn_interrupted", was: "was interrupted" },
  failed: { stage: "turn_failed", was: "ended with an error" },
  killed: { stage: "turn_killed", was: "ended with its process" },
} as const;

export class EndedTurns {
  readonly #ctx: Context;
  readonly #notifications: Notifications;
  readonly #ports: RoutingPorts;

  constructor(ctx: Context, notifications: Notifications, ports: RoutingPorts) {
    this.#ctx = ctx;
    this.#notifications = notifications;
    this.#ports = ports;
  }

  /** Called with evidence of the ends of this peer's turns. */
  turnEvidence(peer_id: string, { ends }: TurnEvidence): void {
    const { db } = this.#ctx;
    for (const end of ends) {
      if (end.how === "completed" || end.how === "unreported") continue;
      const { prompts_since = [], how, at } = end;
      for (const ask of asks.seenBefore(db, { to_peer_id: peer_id, at, limit: ASKS_MAX })) {
        const isReadAgain = prompts_since.some((text) => text.includes(ask.correlation_id));
        if (!isReadAgain) this.#report(ask, ENDS[how], end);
      }
    }
  }

  /** Reports each ask once, even if further turns end before it is answered. */
  #report(
    { correlation_id, from_peer_id, to_peer_id, to_peer_name }: Ask,
    { stage, was }: (typeof ENDS)[keyof typeof ENDS],
    { text, source, by }: TurnEnd,
  ): void {
    const { db, clock } = this.#ctx;
    const delivery_id = ledger.findMessage(db, correlation_id)?.delivery_id;
    if (delivery_id === undefined) return;
    const reported = stagesOf(db, identOf(delivery_id)).map((known) => known.stage);
    if (Object.values(ENDS).some((end) => reported.includes(end.stage))) return;
    const asked = by === undefined ? "" : `${by} asked for it; seen `;
    const detail = text === undefined ? `${asked}by its ${source}` : text;
    db.transact((tx) => insertStage(tx, { delivery_id, stage, ts: clock.now(), detail }));
    // At a limit, the asker is told until when the ask waits, and the agent goes on after it.
    if (from_peer_id === null || this.#ports.isLimited(to_peer_id)) return;
    const because = text ?? (by === undefined ? undefined : `${by} asked for it`);
    const why = because === undefined ? "" : ` (${cleanLine(because)})`;
    const notice = `The turn in which ${cleanLine(to_peer_name)} read your ${correlation_id} ` +
      `${was}${why} before an answer. The ask stays open; ask again if it is still needed.`;
    this.#notifications.tryNotifyFromDaemon(from_peer_id, notice);
  }
}
