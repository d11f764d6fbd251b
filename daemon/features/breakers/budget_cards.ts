/** Asks the human, once for each spent budget, how its work goes on; and carries out the answer. */

import type { Tx } from "kit/data/sqlite.ts";
import type { Context } from "../../data/context.ts";
import type { Ask } from "protocol/asks/contract.ts";
import { formatAmount } from "protocol/budgets/amount.ts";
import type { Address } from "protocol/peers/record.ts";
import { Question } from "protocol/messages/question.ts";
import { budgetMachine } from "protocol/budgets/states.ts";
import { BUDGET_QUESTION } from "../asks/answers.ts";
import type { Asks } from "../asks/asks.ts";
import type { Budgets } from "../budgets/budgets.ts";
import { amountOf, subjectText, usedText, usersText } from "../budgets/limits.ts";
import * as store from "../budgets/store.ts";
import type { StoredBudget } from "../budgets/store.ts";
import type { Interrupts } from "../lifecycle/interrupts.ts";
import { DAEMON } from "../notifications/notifications.ts";
import type { Directory } from "../peers/directory.ts";

/** Maximum questions per tick, so that a tick stays short. */
const QUESTIONS_MAX = 10;

const GO_ON = "go_on", STOP = "stop", STOP_NOW = "stop_now";

interface BudgetCardsDeps {
  readonly asks: Asks;
  readonly budgets: Budgets;
  readonly directory: Directory;
  readonly interrupts: Pick<Interrupts, "interruptWorking">;
}

export class BudgetCards {
  readonly #ctx: Context;
  readonly #deps: BudgetCardsDeps;

  constructor(ctx: Context, deps: BudgetCardsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Called once a second. */
  tick(): void {
    const { db } = this.#ctx;
    const { budgets, directory } = this.#deps;
    if (!budgets.isAny) return;
    const human = directory.inboxHuman();
    if (!human) return;
    for (const budget of store.unasked(db, QUESTIONS_MAX)) {
      // The answer for the budget around it decides first.
      const [, ...outer] = budgets.chainOf(db, budget.budget_id);
      if (outer.every(({ state }) => state === "open")) {
        db.transact((tx) => this.#ask(tx, budget, human));
      }
    }
  }

  /** Called when an ask is closed. Only a person can answer the question about a budget. */
  askClosed({ correlation_id, question, answer, outcome }: Ask): void {
    if (question?.scope !== BUDGET_QUESTION || outcome !== "answered") return;
    const { db } = this.#ctx;
    const { budgets } = this.#deps;
    const budget = store.byQuestion(db, correlation_id);
    if (!budget || !budgetMachine.accepts(budget.state, "stopped")) return;
    const option = answer?.option_id;
    db.transact((tx) => {
      if (option === GO_ON) budgets.grant(tx, budget);
      else if (option === STOP || option === STOP_NOW) budgets.step(tx, budget, "stopped");
    });
    if (option === STOP_NOW) db.afterCommit(() => this.#interruptAll(budget));
  }

  #ask(tx: Tx, budget: StoredBudget, to: Address): void {
    const { asks, budgets } = this.#deps;
    const { budget_id, from_name, scope } = budget;
    const subject = subjectText(budget, budgets.nameOf(budget));
    const given = scope === "ask" || scope === "job" ? ` (given by ${from_name})` : "";
    const by = usersText(budget, store.uses(tx, budget_id));
    const more = formatAmount(amountOf({ ...budget, grants: 1 }));
    const text = `The budget of ${subject}${given} is spent: ${usedText(budget)}` +
      `${by ? `, by ${by}` : ""}. New asks and notifies of this work are refused; replies are not.`;
    const options = [
      { id: GO_ON, title: `Go on with as much again (${more})` },
      { id: STOP, title: "Stop: start nothing new" },
      { id: STOP_NOW, title: "Stop, and interrupt the agents at work" },
    ];
    const metadata = { budget_id };
    const { ticket } = asks.send({
      from: DAEMON,
      to,
      voice: "peer",
      text,
      circle: to.circle,
      notice: true,
      question: Question.parse({
        kind: "choice",
        prompt: text,
        options,
        scope: BUDGET_QUESTION,
        metadata,
      }),
      opening: { reply_delivery: "pull", origin: null, parent_id: null, routing: null },
    });
    store.update(tx, { ...budget, question_id: ticket.message.correlation_id });
  }

  /** Interrupts the peers at work under a budget, or on its day. */
  #interruptAll(budget: StoredBudget): void {
    const { db } = this.#ctx;
    const { budgets } = this.#deps;
    const { budget_id, scope } = budget;
    const ids = scope === "ask" || scope === "job"
      ? store.peersIn(db, budgets.within(db, budget_id))
      : store.uses(db, budget_id).map(({ peer_id }) => peer_id);
    const person = { isHuman: true, isOnOtherMachine: false, peer_id: undefined };
    this.#deps.interrupts.interruptWorking(ids, person);
  }
}
