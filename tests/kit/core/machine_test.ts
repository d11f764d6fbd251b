/** State machines: every pair of state and event has a row or is illegal. */

import assert from "node:assert/strict";
import { stateMachine } from "kit/core/state_machine.ts";
import { askMachine, CLOSE_RULES } from "protocol/asks/states.ts";
import { migrations } from "../../../daemon/app/migrations/migrations.ts";
import { relayMigrations } from "../../../relay/app/database.ts";
import { machines, machinesOf } from "../../support/state_machines.ts";

const MACHINES = await machines();

/** The column of each machine's state; its `check` lists the states. */
// deno-fmt-ignore
const COLUMNS: Record<string, [table: string, column: string] | "memory"> = {
  peer:     ["peers",    "status"   ],
  ask:      ["messages", "ask_state"],
  delivery: ["messages", "state"    ],
  spawn:    ["spawns",   "registration_state"],
  restart:  ["restarts", "state"    ],
  job:      ["jobs",     "state"    ],
  attempt:  ["job_attempts", "state"],
  template: ["job_templates", "state"],
  schedule: ["schedules", "state"   ],
  subscription: ["subscriptions", "state"],
  push: ["push_messages", "state"],
  wake: ["wakes", "state"],
  limit: ["limits", "state"],
  budget: ["budgets", "state"],
  joint_report: ["joint_reports", "state"],
  proof: ["proofs", "state"],
  relay_client:   "memory",
  bus_connection: "memory",
  oauth_client:        ["oauth_clients",        "state"],
  oauth_grant:         ["oauth_grants",         "state"],
  oauth_code:          ["oauth_codes",          "state"],
  oauth_refresh_token: ["oauth_refresh_tokens", "state"],
};

for (const { stateMachine } of MACHINES) {
  const { name, rows, states } = stateMachine;
  Deno.test(`${name}: every pair of state and event has its row, or is illegal`, () => {
    const events = new Set(rows.map(([, on]) => on));
    let transitionCount = 0;
    for (const from of states) {
      for (const on of events) {
        const row = rows.find((row) => row[0] === from && row[1] === on);
        assert.equal(stateMachine.accepts(from, on), row !== undefined);
        if (row) {
          assert.equal(stateMachine.step(from, on), row[2]);
          transitionCount++;
        } else {
          const refusal = { code: "illegal_transition", fields: { machine: name, from, on } };
          assert.throws(() => stateMachine.step(from, on), refusal);
        }
      }
    }
    assert.equal(transitionCount, rows.length);
  });

  Deno.test(`${name}: every state is reachable from the first, and a final state has no row`, () => {
    const reached = new Set(states.slice(0, 1));
    for (const _ of states) {
      for (const [from, , to] of rows) if (reached.has(from)) reached.add(to);
    }
    assert.deepEqual([...reached].sort(), states.toSorted());
    for (const state of states) {
      assert.equal(stateMachine.isFinal(state), !rows.some(([from]) => from === state));
    }
  });

  Deno.test(`${name}: the database allows exactly the machine's states`, () => {
    const stored = COLUMNS[name];
    assert.ok(stored, `say in COLUMNS where the state of "${name}" is stored`);
    if (stored === "memory") return;
    const [table, column] = stored;
    assert.deepEqual(allowedValues(table, column), states.toSorted());
  });
}

/** The values in the newest `check` of a column. */
function allowedValues(table: string, column: string): string[] {
  const created = new RegExp(`create table ${table} \\((.*?)\\) strict`, "s");
  const all = [...migrations, ...relayMigrations];
  const body = all.flatMap((sql) => created.exec(sql)?.[1] ?? []).at(-1) ?? "";
  const list = new RegExp(`\\b${column} text[^,]*? check \\(${column} in\\s*\\(([^)]*)\\)`);
  const words = list.exec(body)?.[1] ?? "";
  return [...words.matchAll(/'(\w+)'/g)].map(([, word = ""]) => word).sort();
}

Deno.test("all machines are found, each with a unique name", () => {
  const names = MACHINES.map(({ stateMachine }) => stateMachine.name);
  assert.equal(new Set(names).size, names.length);
  for (const name of ["ask", "delivery", "peer", "relay_client", "oauth_grant"]) {
    assert.ok(names.includes(name), name);
  }
});

Deno.test("a machine that is not exported is an error", async () => {
  const path = "protocol/asks/states.ts";
  const text = Deno.readTextFileSync(new URL(`../../../${path}`, import.meta.url));
  assert.equal((await machinesOf({ path, text, code: text })).length, 1);
  const code = `${text}\nconst hidden = stateMachine("hidden", []);\n`;
  await assert.rejects(
    machinesOf({ path, text, code }),
    /2 calls of stateMachine\(\), and 1 machines/,
  );
});

Deno.test("each close reason closes an open ask, and a closed ask accepts none", () => {
  for (const [reason, [on]] of Object.entries(CLOSE_RULES)) {
    assert.equal(askMachine.step("open", on), "closed", reason);
    assert.throws(() => askMachine.step("closed", on), { code: "illegal_transition" });
  }
  const used = new Set<string>(Object.values(CLOSE_RULES).map(([on]) => on));
  for (const [, on, to] of askMachine.rows) {
    assert.equal(used.has(on), to === "closed", `${on} needs a close reason`);
  }
});

Deno.test("a table with two rows for one state and event throws", () => {
  assert.throws(
    () => stateMachine("door", [["open", "shut", "closed"], ["open", "shut", "open"]]),
    {
      message: `Machine "door" has two rows for one state and event`,
    },
  );
});

Deno.test("a misspelt state or event does not compile", () => {
  const door = stateMachine("door", [["open", "shut", "closed"]]);
  // @ts-expect-error There is no state "opne".
  assert.throws(() => door.step("opne", "shut"), { code: "illegal_transition" });
  // @ts-expect-error There is no event "slammed".
  assert.equal(door.accepts("open", "slammed"), false);
});
