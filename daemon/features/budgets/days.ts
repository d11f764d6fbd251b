/** The budgets of days, which the configuration gives all agents together, or single peers. */

import { DAY_MS } from "kit/core/duration.ts";
import { dateOf } from "kit/core/local_time.ts";
import { matchesPattern } from "kit/core/text.ts";
import type { Reader, Tx } from "kit/data/sqlite.ts";
import type { Context } from "../../data/context.ts";
import { type Amount, parseAmount } from "protocol/budgets/amount.ts";
import { budgetMachine } from "protocol/budgets/states.ts";
import type { Directory } from "../peers/directory.ts";
import { shareOf } from "./limits.ts";
import { newBudget } from "./new_budget.ts";
import * as store from "./store.ts";
import type { StoredBudget } from "./store.ts";

export interface DaySettings {
  readonly directory: Directory;
  /** The budget of all agents for each day. */
  readonly day: string | undefined;
  /** The budgets of peers for each day, by names in which `*` stands for any text. */
  readonly peers: Readonly<Record<string, string>>;
}

/** The subject of the budget of all agents. */
const ALL = "day";
/** The configuration as the giver of a budget. */
const CONFIGURATION = { peer_id: null, name: "budgets" };

export class Days {
  readonly #ctx: Context;
  readonly #directory: Directory;
  readonly #day: Amount | undefined;
  readonly #peers: readonly (readonly [pattern: string, amount: Amount])[];
  /** The last day that has a budget. */
  #last: string | undefined;
  /** The budgets that were looked up since the table of budgets changed, by subject and day. */
  readonly #found = new Map<string, StoredBudget | undefined>();
  #found_at = -1;

  constructor(ctx: Context, { directory, day, peers }: DaySettings) {
    this.#ctx = ctx;
    this.#directory = directory;
    this.#day = day === undefined ? undefined : amountIn(day);
    const literal = (pattern: string) => pattern.replaceAll("*", "").length;
    this.#peers = Object.entries(peers)
      .map(([pattern, text]) => [pattern.toLowerCase(), amountIn(text)] as const)
      .toSorted(([a], [b]) => literal(b) - literal(a));
    this.#last = store.lastDay(ctx.db);
  }

  get isAny(): boolean {
    return this.#day !== undefined || this.#peers.length > 0;
  }

  /**
   * The day that counts now, in this machine's zone. A clock that is set back over midnight does
   * not begin a day again whose budget is used.
   */
  today(): string {
    const now = this.#ctx.clock.now();
    const today = dateOf(new Date(now)), tomorrow = dateOf(new Date(now + DAY_MS));
    return this.#last === tomorrow ? tomorrow : today;
  }

  /** The budgets of today that peers count to, as far as something is used of them. */
  of(db: Reader, peer_ids: readonly (string | null)[]): StoredBudget[] {
    if (!this.isAny) return [];
    const day = this.today();
    return this.#subjectsOf(peer_ids).flatMap(([subject, amount]) => {
      const found = this.#ofSubject(db, subject, day);
      return found ? [adjusted(found, amount)] : [];
    });
  }

  /** Messages ask for this more often than budgets change. */
  #ofSubject(db: Reader, subject: string, day: string): StoredBudget | undefined {
    const revision = this.#ctx.db.revisionOf("budgets");
    if (revision !== this.#found_at) this.#found.clear();
    this.#found_at = revision;
    return this.#found.getOrInsertComputed(
      `${day} ${subject}`,
      () => store.ofSubject(db, subject, day),
    );
  }

  /** As `of` for one peer. Begins those of which nothing is used, and applies the settings. */
  begin(tx: Tx, peer_id: string): StoredBudget[] {
    if (!this.isAny) return [];
    const day = this.today();
    return this.#subjectsOf([peer_id]).map(([subject, amount]) => {
      const found = store.ofSubject(tx, subject, day);
      if (found) {
        const current = adjusted(found, amount);
        if (current !== found) store.update(tx, current);
        return current;
      }
      const scope = subject === ALL ? "day" as const : "peer" as const;
      const given = { scope, subject, day, parent_id: null, from: CONFIGURATION, amount };
      const budget = newBudget(this.#ctx, given);
      store.insert(tx, budget);
      this.#last = day;
      return budget;
    });
  }

  /** The subjects of peers' budgets, and of all, with their amounts. */
  #subjectsOf(peer_ids: readonly (string | null)[]): [subject: string, amount: Amount][] {
    const subjects: [string, Amount][] = this.#day ? [[ALL, this.#day]] : [];
    for (const peer_id of this.#peers.length === 0 ? [] : peer_ids) {
      const name = peer_id === null ? undefined : this.#directory.address(peer_id)?.name;
      const found = name && this.#peers.find(([of]) => matchesPattern(of, name.toLowerCase()));
      if (peer_id !== null && found) subjects.push([peer_id, found[1]]);
    }
    return subjects;
  }
}

/** A budget by the settings of now, which may have changed since it began. */
function adjusted(budget: StoredBudget, amount: Amount): StoredBudget {
  const { tokens, turns, ms, cost, currency } = amount;
  const limits = { tokens_max: tokens, turns_max: turns, ms_max: ms, cost_max: cost, currency };
  const next = { ...budget, ...limits };
  if (JSON.stringify(next) === JSON.stringify(budget)) return budget;
  const isFree = shareOf(next) < 1 && budgetMachine.accepts(next.state, "granted");
  return isFree ? { ...next, state: budgetMachine.step(next.state, "granted") } : next;
}

/** The schema of the settings has refused any other text. */
function amountIn(text: string): Amount {
  const amount = parseAmount(text);
  if (typeof amount === "string") throw new Error(amount);
  return amount;
}
