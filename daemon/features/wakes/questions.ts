/** The question that asks the human whether to wake a peer, with the messages that wait for it. */

import type { Context } from "../../data/context.ts";
import { cleanLine, cleanText } from "kit/core/text.ts";
import type { Ask } from "protocol/asks/contract.ts";
import { Question } from "protocol/messages/question.ts";
import { WAKE_OPTIONS, WAKE_SCOPE } from "protocol/wakes.ts";
import type { Asks } from "../asks/asks.ts";
import * as askRows from "../asks/store.ts";
import * as ledger from "../messages/ledger/ledger.ts";
import { DAEMON } from "../notifications/notifications.ts";
import type { Directory } from "../peers/directory.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { StoredWake } from "./store.ts";

/** Maximum asks that the question shows, and maximum characters of each. */
const ASKS_SHOWN_MAX = 5;
const TEXT_CHARS_MAX = 2000;
const NO_ASKER = { peer_id: null, name: "", circle: null };

/** The human's decision about a peer: one of the options of the question. */
export type WakeDecision = (typeof WAKE_OPTIONS)[number];

interface WakeQuestionsDeps {
  readonly asks: Asks;
  readonly directory: Pick<Directory, "address" | "inboxHuman">;
}

export class WakeQuestions {
  readonly #ctx: Context;
  readonly #deps: WakeQuestionsDeps;

  constructor(ctx: Context, deps: WakeQuestionsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Asks the human. Returns the id of the question; undefined if there is no human. */
  open({ cause, wake_id }: StoredWake, peer: StoredPeer): string | undefined {
    const { asks, directory } = this.#deps;
    const to = directory.inboxHuman();
    if (!to) return undefined;
    const { name, peer_id } = peer;
    const text = this.#textOf(peer, cause);
    const [wake, not_now, never] = WAKE_OPTIONS;
    const question = Question.parse({
      kind: "choice",
      prompt: text,
      options: [
        { id: wake, title: "Wake it" },
        { id: not_now, title: "Not now" },
        { id: never, title: `Never wake ${name}` },
      ],
      scope: WAKE_SCOPE,
      metadata: { peer_id, wake_id },
    });
    const { ticket } = asks.send({
      from: DAEMON,
      to,
      voice: "peer",
      text,
      circle: peer.circle,
      question,
      notice: true,
      opening: { reply_delivery: "pull", origin: null, parent_id: null, routing: null },
    });
    return ticket.message.correlation_id ?? undefined;
  }

  /** Closes the question of a wake that is over, or that was decided in another way. */
  withdraw({ question_id }: Pick<StoredWake, "question_id">, why: string): void {
    const ask = question_id === null ? undefined : this.#deps.asks.get(question_id);
    if (ask?.state !== "open") return;
    this.#deps.asks.closer.close(ask, "cancelled", { responder: null, reply: why });
  }

  /** The human's decision, by the closed question. Any end but an answer means: not now. */
  decisionOf({ answer }: Ask): WakeDecision {
    return WAKE_OPTIONS.find((option) => option === answer?.option_id) ?? "not_now";
  }

  #textOf({ peer_id, name, path, backend }: StoredPeer, cause: string | null): string {
    const open = askRows.openTo(this.#ctx.db, peer_id);
    const asks = open.filter(({ correlation_id }) => cause === null || correlation_id === cause);
    const agent = `${name} (${backend} in ${cleanLine(path ?? "an unknown folder")})`;
    const head = cause === null
      ? `${agent} ended before it had answered ${open.length} ${
        open.length === 1 ? "ask" : "asks"
      }.`
      : `${agent} is asleep, and was asked.`;
    const shown = asks.slice(0, ASKS_SHOWN_MAX).map((ask) => this.#quote(ask));
    const more = asks.length - shown.length;
    const rest = more > 0 ? [`${more} more: mesh asks`] : [];
    return [head, ...shown, ...rest, `Wake ${name}?`].join("\n\n");
  }

  /** An ask as quoted lines. Its text is another author's. */
  #quote({ correlation_id, from_peer_id, from_peer_name, text, unverified }: Ask): string {
    const from = from_peer_id === null ? undefined : this.#deps.directory.address(from_peer_id);
    const { circle } = from ?? NO_ASKER;
    const place = circle === null ? "no circle" : `circle ${circle}`;
    const doubt = unverified ? ", unverified" : "";
    const quoted = cleanText(text).slice(0, TEXT_CHARS_MAX).toWellFormed()
      .split("\n").map((line) => `> ${line}`).join("\n");
    return `@${from_peer_name} (${place}${doubt}), ${correlation_id}:\n\n${quoted}`;
  }
}

/** The number of open asks to a peer, and the ids of those that it has received. */
export function openAsksOf(ctx: Pick<Context, "db">, peer_id: string) {
  const open = askRows.owedBy(ctx.db, peer_id);
  const queued = new Set(ledger.queuedAsks(ctx.db, peer_id, open.length));
  const isQueued = ({ correlation_id }: Ask) =>
    queued.has(ledger.findMessage(ctx.db, correlation_id)?.delivery_id ?? "");
  return { open, received: open.filter((ask) => !isQueued(ask)) };
}
