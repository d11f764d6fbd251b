/**
 * Reports two works that pass a check apart and fail it together: one ask to one author, a
 * notification to the other, and the human only if they do not settle it.
 */

import { showHidden } from "kit/core/hidden.ts";
import { cleanLine } from "kit/core/text.ts";
import { HOUR_MS } from "kit/core/duration.ts";
import type { Tx } from "kit/data/sqlite.ts";
import { recoverableProblem } from "protocol/problems.ts";
import { type JointReportEvent, jointReportMachine } from "protocol/joint_checks/states.ts";
import type { Context } from "../../data/context.ts";
import { maskSecrets } from "../agents/sessions/secrets.ts";
import type { Asks } from "../asks/asks.ts";
import * as asks from "../asks/store.ts";
import type { Git } from "../changes/git/git.ts";
import { DIFF } from "../changes/git/reader.ts";
import { taskOf } from "../files/overlaps.ts";
import { DAEMON, type Notifications } from "../notifications/notifications.ts";
import type { Directory } from "../peers/directory.ts";
import type { StoredPeer } from "../peers/store.ts";
import * as peers from "../peers/store.ts";
import * as store from "./store.ts";
import type { StoredReport } from "./store.ts";

/** Time in which the authors settle it themselves. */
const SETTLE_MS_MAX = HOUR_MS;
/** Characters of a diff, and of the check's output, in a report. */
const DIFF_CHARS_MAX = 6_000;
const OUTPUT_CHARS_MAX = 3_000;
const DIFF_BYTES_MAX = 65_536;
const NAMED_FILES_MAX = 5;

/** The part of a peer's work that fails with the other's. */
export interface JointWork {
  readonly peer: StoredPeer;
  readonly branch: string | null;
  /** The commits whose difference is shown. */
  readonly before: string;
  readonly after: string;
}

interface Failure {
  /** The author who is asked. */
  readonly asked: JointWork;
  readonly other: JointWork;
  /** The joined files that fail. */
  readonly tree: string;
  readonly repository: string;
  readonly output: string;
  readonly files: readonly string[];
}

interface JointReportsDeps {
  readonly asks: Asks;
  readonly check_name: string;
  readonly directory: Directory;
  readonly notifications: Notifications;
  readonly secrets: readonly string[];
}

export class JointReports {
  readonly #ctx: Context;
  readonly #deps: JointReportsDeps;

  constructor(ctx: Context, deps: JointReportsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** The ask of a report on two peers that is not settled. */
  askOf(first: StoredPeer, second: StoredPeer): string | null {
    return this.#find(first, second)?.correlation_id ?? null;
  }

  /** The joined work of two peers passes, or no longer concerns each other. */
  fits(first: StoredPeer, second: StoredPeer): void {
    const report = this.#find(first, second);
    if (report) this.#ctx.db.transact((tx) => this.#step(tx, report, "settled"));
  }

  /**
   * Settles the reports on peers that no longer work in two work trees of a repository. An agent
   * that is offline may come back to its work.
   */
  settleGone(groups: readonly ReadonlySet<string>[]): void {
    const { db } = this.#ctx;
    for (const report of store.open(db)) {
      const ids = [report.first_peer_id, report.second_peer_id];
      const statuses = ids.map((id) => peers.get(db, id)?.status ?? "retired");
      if (statuses.includes("offline") && !statuses.includes("retired")) continue;
      if (groups.some((group) => ids.every((id) => group.has(id)))) continue;
      db.transact((tx) => this.#step(tx, report, "settled"));
    }
  }

  /** True if a report on two peers is not settled. */
  isReported(first: StoredPeer, second: StoredPeer): boolean {
    return this.#find(first, second) !== undefined;
  }

  /** Informs the human if the work of two peers failed after their ask was closed, or is old. */
  stillFails(first: StoredPeer, second: StoredPeer, taken_at: number): void {
    const { clock, db } = this.#ctx;
    const report = this.#find(first, second);
    if (report?.state !== "asked") return;
    const { correlation_id, created_at } = report;
    const ask = correlation_id === null ? undefined : asks.ask(db, correlation_id);
    const isClosed = ask?.state !== "open" && (ask?.closed_at ?? 0) <= taken_at;
    const isOver = isClosed || clock.now() - created_at > SETTLE_MS_MAX;
    if (isOver) db.transact((tx) => this.#tellHuman(tx, report));
  }

  /** Asks one author and informs the other. Peers of two circles may not read each other's work. */
  async report(git: Git, failure: Failure): Promise<void> {
    const { clock, db, events, ids } = this.#ctx;
    const { check_name } = this.#deps;
    const { asked, other, repository, tree } = failure;
    const text = await this.#textOf(git, failure);
    const now = clock.now();
    const report: StoredReport = {
      report_id: ids.next("joint"),
      repository,
      first_peer_id: asked.peer.peer_id,
      second_peer_id: other.peer.peer_id,
      check_name,
      state: "asked",
      tree,
      correlation_id: null,
      created_at: now,
      updated_at: now,
    };
    db.transact((tx) => {
      const isNear = asked.peer.circle === other.peer.circle;
      const correlation_id = isNear ? this.#ask(asked.peer, other.peer, text) : undefined;
      const stored = { ...report, correlation_id: correlation_id ?? null };
      store.insert(tx, stored);
      events.append("joint_failure", {
        report_id: report.report_id,
        check: check_name,
        first_peer_id: report.first_peer_id,
        second_peer_id: report.second_peer_id,
        correlation_id: correlation_id ?? null,
      });
      if (correlation_id === undefined) return this.#tellHuman(tx, stored);
      const info =
        `@${asked.peer.name} is asked to settle this with you. Agree with it: mesh ask ` +
        `${asked.peer.name} "…"\n\n${text}`;
      this.#deps.notifications.tryNotifyFromDaemon(other.peer.peer_id, info);
    });
  }

  #find(first: StoredPeer, second: StoredPeer): StoredReport | undefined {
    const both = new Set([first.peer_id, second.peer_id]);
    return store.open(this.#ctx.db).find(({ first_peer_id, second_peer_id }) =>
      both.has(first_peer_id) && both.has(second_peer_id)
    );
  }

  /** Returns the id of the ask; undefined if it is refused. */
  #ask(to: StoredPeer, other: StoredPeer, text: string): string | undefined {
    const lines = [
      text,
      "",
      `Settle it with @${other.name}: mesh ask ${other.name} "…". Then repair the work of one of ` +
      "you, and answer here what you agreed. The check runs again by itself.",
    ];
    try {
      const { ticket } = this.#deps.asks.send({
        from: DAEMON,
        to: this.#deps.directory.target(to.peer_id, {}),
        voice: "peer",
        text: lines.join("\n"),
        circle: to.circle,
        notice: true,
        question: null,
        opening: { reply_delivery: "pull", origin: null, parent_id: null, routing: null },
      });
      return ticket.message.correlation_id ?? undefined;
    } catch (error) {
      const refusal = recoverableProblem(error);
      if (!refusal) throw error;
      this.#ctx.log.info("An ask about a joint check was refused", { code: refusal.code });
      return undefined;
    }
  }

  #tellHuman(tx: Tx, report: StoredReport): void {
    const { db } = this.#ctx;
    const { directory, notifications } = this.#deps;
    this.#step(tx, report, "unsettled");
    const [first, second] = [report.first_peer_id, report.second_peer_id].map((id) =>
      peers.get(db, id)?.name ?? id
    );
    const human = directory.inboxHuman();
    if (!human) return;
    const answer = report.correlation_id === null
      ? "They work in different circles or could not be asked."
      : `They were asked to settle it (${report.correlation_id}), and it still fails.`;
    notifications.tryNotifyFromDaemon(
      human.peer_id,
      `The work of @${first} and of @${second} passes "${report.check_name}" apart and fails it ` +
        `together. ${answer} See: mesh landing`,
    );
  }

  #step(tx: Tx, report: StoredReport, event: JointReportEvent): void {
    const state = jointReportMachine.step(report.state, event);
    store.update(tx, { ...report, state, updated_at: this.#ctx.clock.now() });
  }

  async #textOf(git: Git, { asked, other, output, files }: Failure): Promise<string> {
    const { check_name } = this.#deps;
    const named = files.slice(0, NAMED_FILES_MAX).map(cleanLine).join(", ");
    const more = files.length > NAMED_FILES_MAX
      ? ` and ${files.length - NAMED_FILES_MAX} more`
      : "";
    return [
      `The check "${check_name}" passes on the work of @${asked.peer.name} and on that of ` +
      `@${other.peer.name}, and fails on both together. They meet in ${named}${more}.`,
      ...await Promise.all([asked, other].map((work) => this.#workText(git, work))),
      `The end of the output of "${check_name}":`,
      this.#shown(output).slice(-OUTPUT_CHARS_MAX).toWellFormed(),
    ].join("\n\n");
  }

  async #workText(git: Git, { peer, branch, before, after }: JointWork): Promise<string> {
    const args = [...DIFF, "--abbrev=8", "-U3", before, after];
    const { text, cut } = await git.run(args, { bytes_max: DIFF_BYTES_MAX });
    // Masked before it is cut: a part of a secret would not be found.
    const shown = this.#shown(text);
    const isCut = cut !== null || shown.length > DIFF_CHARS_MAX;
    const task = taskOf(this.#ctx, peer.peer_id);
    return [
      `@${peer.name}${branch === null ? "" : ` on ${cleanLine(branch)}`}` +
      `${task === null ? "" : `, at work on: ${task}`}`,
      shown.slice(0, DIFF_CHARS_MAX).toWellFormed() + (isCut ? "\n… (cut)" : ""),
    ].join("\n");
  }

  #shown(text: string): string {
    return showHidden(maskSecrets(text, this.#deps.secrets).text);
  }
}
