/** Cost of an access token's check, with as many tokens as a busy relay stores. */

import { DatabaseSync } from "node:sqlite";
import { randomIds, systemClock } from "kit/core/clock.ts";
import { jsonLog } from "kit/core/log.ts";
import { Grants } from "../../../relay/oauth/grants.ts";
import { BEARER } from "../../../relay/oauth/grant_store.ts";
import { openDatabase } from "../../../relay/app/database.ts";
import { temporary } from "../../support/programs/child.ts";
import { digest, fillGrants } from "../servers/grants.ts";
import { type Effort, type Figure, interleave } from "../report/figures.ts";

const GRANTS = 10_000;
const TOKENS_EACH = 10;
/** For each timed message of an effort. */
const CHECKS_EACH = 10;
/** Too many for one page, and in an order that no cache foresees. */
const STRIDE = 7919;

/** A token check beside the bare statement, on a database of 100,000 tokens. */
export async function tokenChecks({ rounds, count }: Effort): Promise<Figure[]> {
  using state = temporary();
  const path = `${state.path}/oauth.db`;
  using db = openDatabase(
    path,
    "https://relay.example.com",
    { clock: systemClock, log: jsonLog(systemClock, "error", () => {}) },
  );
  const tokens = fillGrants(db, { grants: GRANTS, tokens_each: TOKENS_EACH });
  const deps = { db, clock: systemClock, ids: randomIds, onExchanged: () => undefined };
  const grants = new Grants({ ...deps, exchanges: { acquire: () => undefined } });
  using bare = new DatabaseSync(path, { readOnly: true });
  const statement = bare.prepare(BEARER);
  const now = systemClock.now();
  const lookUp = (find: (token: string) => unknown) => () =>
    Promise.resolve(each(count * CHECKS_EACH, tokens, find));
  const { ours, statements } = await interleave(rounds, {
    ours: lookUp((token) => grants.bearerOf(token)),
    statements: lookUp((token) => statement.get({ token_hash: digest(token), now })),
  });
  return [{
    what: "relay: token check, 100,000 tokens",
    unit: "µs",
    ours,
    yardstick: { name: "statement alone", samples: statements },
    budget: { of: "value", max: 100 },
  }];
}

/** Microseconds of one look-up, which must find its row. */
function each(
  rounds: number,
  tokens: readonly string[],
  verify: (token: string) => unknown,
): number {
  const from = performance.now();
  for (let round = 0; round < rounds; round++) {
    const token = tokens[round * STRIDE % tokens.length] ?? "";
    if (!verify(token)) throw new Error("A token was not found");
  }
  return (performance.now() - from) * 1000 / rounds;
}
