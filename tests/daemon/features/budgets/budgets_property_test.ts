/** Random chains of asks, replies, prompts and grants: what must hold of budgets in each. */

import assert from "node:assert/strict";
import * as z from "zod";
import { listBudgets } from "protocol/budgets/contract.ts";
import type { WireResponse } from "kit/http/client.ts";
import { connectPeer, eventData, post } from "../../../support/daemon/peer_clients.ts";
import { Chance } from "../../../support/seeded_random.ts";
import { type World, world } from "../../../support/world.ts";

const NAMES = ["api", "web", "db", "cron"] as const;
const SEEDS = 6, STEPS = 60;
const Count = z.object({ budget_id: z.string(), count: z.number() });

type WireBudget = WireResponse<typeof listBudgets>["budgets"][number];

/** The new messages to peers that count to each budget, or to one within it. */
function newMessages(w: World): Map<string, number> {
  const rows = w.daemon.ctx.db.all(
    Count,
    `with recursive within (budget_id, root) as (
       select budget_id, budget_id from budgets
       union all select budgets.budget_id, root from budgets
         join within on budgets.parent_id = within.budget_id)
     select root as budget_id, count(*) as count from within
     join budget_members on budget_members.budget_id = within.budget_id
     join messages on subject = iif(kind = 'notify', 'notif-', 'qd-') || ident
     where kind in ('ask', 'notify') and to_peer_name <> 'sam' group by root`,
  );
  return new Map(rows.map(({ budget_id, count }) => [budget_id, count]));
}

/** Compares a budget with its earlier record: numbers grow, and a spent one starts nothing. */
function mustHold(
  now: WireBudget,
  before: WireBudget | undefined,
  { all, messages }: {
    readonly all: readonly WireBudget[];
    readonly messages: readonly [number | undefined, number | undefined];
  },
): void {
  const { used, by, parent_id } = now;
  for (const unit of ["tokens", "turns", "seconds", "cost"] as const) {
    assert.equal(used[unit] >= (before?.used[unit] ?? 0), true, `${unit} fell`);
  }
  assert.equal(by.reduce((sum, { turns }) => sum + turns, 0), used.turns);
  const parent = all.find(({ budget_id }) => budget_id === parent_id);
  if (parent) assert.equal(parent.used.turns >= used.turns, true, "a part exceeds the whole");
  const wasSpent = before !== undefined && before.state !== "open" && now.grants === before.grants;
  if (wasSpent) assert.equal(messages[1], messages[0], "a spent budget started something");
}

async function step(w: World, chance: Chance, open: string[]): Promise<void> {
  const [from_peer, to_peer] = [chance.pick([...NAMES, "sam"]), chance.pick(NAMES)];
  const budget = chance.oneIn(4) ? `${1 + chance.below(6)}-turns` : undefined;
  const reply_to = chance.oneIn(5) && open.length > 0 ? chance.pick(open) : undefined;
  const kind = chance.below(8);
  if (kind < 4) {
    const sent = await post(w, "/ask", { from_peer, to_peer, text: "?", budget, reply_to });
    if (sent.correlation_id) open.push(sent.correlation_id);
  } else if (kind === 4) await post(w, "/notify", { from_peer, to_peer, text: "!", budget });
  else if (kind === 5 && open.length > 0) {
    const [correlation_id] = open.splice(chance.below(open.length), 1);
    const { status, error } = await post(w, "/ack", { correlation_id, message: "Yes" });
    assert.notEqual(error, "budget_spent", `a reply was refused: ${status}`);
  } else if (kind === 6) {
    await post(w, `/peers/${to_peer}/turn`, { turn_state: "working", prompt: "Something else" });
    await post(w, `/peers/${to_peer}/turn`, { turn_state: "idle", last_message: "Done" });
  } else {
    const questions = eventData(w, "question").filter(({ scope }) => scope === "budget");
    const { correlation_id } = questions.length > 0 ? chance.pick(questions) : {};
    const option_id = chance.pick(["go_on", "stop"]);
    await post(w, "/answer", { correlation_id, from_peer: "sam", option_id });
  }
  await w.tick();
}

Deno.test("no number of a budget falls, and a spent one starts nothing, in random chains", async () => {
  let refused = 0, granted = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    await using w = world({ settings: { "human.name": "sam", "breakers.loops": "off" } });
    const chance = new Chance(seed);
    for (const name of NAMES) await connectPeer(w, name, { circle: "main" });
    await w.clock.settle();
    const open: string[] = [];
    let before = new Map<string, WireBudget>(), counted = new Map<string, number>();
    for (let number = 0; number < STEPS; number++) {
      await step(w, chance, open);
      const { budgets } = await w.call(listBudgets, { query: { limit: "500" } });
      const messages = newMessages(w);
      for (const now of budgets) {
        const { budget_id } = now;
        const sent = [counted.get(budget_id), messages.get(budget_id)] as const;
        mustHold(now, before.get(budget_id), { all: budgets, messages: sent });
      }
      before = new Map(budgets.map((budget) => [budget.budget_id, budget]));
      counted = messages;
    }
    const steps = eventData(w, "budget").map(({ event }) => event);
    granted += steps.filter((event) => event === "granted").length;
    const metrics = await (await w.fetch("/metrics")).text();
    refused += Number(/limit="budget_spent"\} (\d+)/.exec(metrics)?.[1] ?? 0);
  }
  assert.equal(refused > 5 && granted > 0, true, `${refused} refused, ${granted} granted`);
});
