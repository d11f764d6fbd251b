/** Faults in deferred inserts, addresses in memory, the search for a route, and stored answers. */

import type { Target } from "./target.ts";

export const DATA_TARGETS: readonly Target[] = [
  {
    file: "daemon/data/run_numbers.ts",
    tests: [
      "tests/daemon/features/messages/numbers_given_once_test.ts",
      "tests/daemon/api/events/other_runs_test.ts",
    ],
    faults: [
      ["a run skips no number", "if (distance === 1) return;", "return;"],
      [
        "a machine that goes on from its memory skips no number",
        "if (this.#clockWatch.stepped() !== 0) {",
        "if (this.#last < 0) {",
      ],
      [
        "numbers that were skipped count as rows",
        "if (numbers >= left) break;",
        "if (numbers > 0) break;",
      ],
      ["the number after a gap is not known", "return next ?? last + 1;", "return last + 1;"],
    ],
  },
  {
    file: "daemon/features/messages/attachments/attachments.ts",
    tests: ["tests/storm/storm_test.ts"],
    faults: [
      [
        "a file gets the id of one that was deleted",
        "const id = `att-${this.#ctx.ids.hex(16)}`;",
        "const id = `att-${rows.files(this.#ctx.db).length}`;",
      ],
    ],
  },
  {
    file: "daemon/features/schedules/schedules.ts",
    tests: ["tests/storm/storm_test.ts"],
    faults: [
      [
        "a schedule gets the id of one that a restore has lost",
        'let schedule_id = ids.next("sched");',
        "let schedule_id = `sched-${rows.activeCount(db)}`;",
      ],
    ],
  },
  {
    file: "kit/data/deferred_inserts.ts",
    tests: ["tests/kit/data"],
    faults: [
      [
        "rows that fill no batch are forgotten",
        "for (const { values } of rows.slice(at)) single.run(...values);",
        "",
      ],
      [
        "the rows of a refused transaction are stored",
        "this.#rows.length = Math.min(this.#rows.length, Math.max(0, position - this.#run));",
        "void position;",
      ],
      ["the rows of a failed group are stored with the next one", "    this.#rows = [];", ""],
      [
        "rows are stored although SQLite has ended the transaction",
        'if (!this.#sqlite.isTransaction) throw new Error("SQLite has ended the transaction");',
        "",
      ],
      [
        "rows of a running transaction are stored before its savepoint",
        "const rows = this.#rows.splice(0, count);",
        "const rows = this.#rows.splice(0);",
      ],
    ],
  },
  {
    file: "kit/data/sqlite.ts",
    tests: ["tests/kit/data/rows_test.ts"],
    faults: [
      [
        "a kept record outlives a change of its table",
        "known?.id === id && known.revision === db.revisionOf(table)",
        "known?.id === id",
      ],
      [
        "a record that was written to no row is kept",
        "count === 0 ? undefined : Object.freeze({ ...record })",
        "Object.freeze({ ...record })",
      ],
    ],
  },
  {
    file: "daemon/data/table_view.ts",
    tests: ["tests/daemon/features/peers"],
    faults: [
      [
        "a changed peer keeps its old address",
        "if (revision === this.#revision) return;",
        "if (revision !== undefined) return;",
      ],
      [
        "callers may fill the memory with names",
        "if (answers.size >= ANSWERS_MAX) answers.clear();",
        "",
      ],
    ],
  },
  {
    file: "kit/http/route.ts",
    tests: ["tests/kit/http/route_test.ts"],
    faults: [
      [
        "a failed commit of others refuses stored work",
        "if (!this.#writes.hasStored) throw error;",
        "throw error;",
      ],
      [
        "work is answered although its commit failed",
        "if (this.#writes.failure) throw this.#writes.failure;",
        "",
      ],
      [
        "a request that has stored a part is refused as if it had changed nothing",
        "if (!isFailed || !this.#writes.hasStored) return refusal;",
        "if (isFailed) return refusal;",
      ],
    ],
  },
  {
    file: "kit/data/rollback_map.ts",
    tests: ["tests/kit/data/rollback_map_test.ts"],
    faults: [
      [
        "a change in memory outlives its transaction",
        "if (before) super.set(key, before.value);",
        "",
      ],
      [
        "a new entry in memory outlives its transaction",
        "else super.delete(key);",
        "",
      ],
    ],
  },
  {
    file: "kit/http/serve.ts",
    tests: ["tests/kit/http", "tests/daemon/api"],
    faults: [
      [
        "a query is lost where the path has no parameters",
        'return url.slice(url.indexOf("/", url.indexOf("://") + 3));',
        'return url.slice(url.indexOf("/", url.indexOf("://") + 3)).split("?")[0] ?? "";',
      ],
      [
        "a literal path hides a name from the other methods",
        "app.on(method, path, (",
        "app.all(path, (",
      ],
      [
        "a word at the start of a path hides a name from longer paths",
        '.split("/").toReversed().join("/")',
        "",
      ],
      [
        "a parameter takes the place of a literal path",
        "ranked.sort((a, b) => a.rank < b.rank ? -1 : 1)",
        "ranked.sort((a, b) => a.rank < b.rank ? 1 : -1)",
      ],
      [
        "a refusal leaves before what it reveals is on the disk",
        "await guard.whenDurable();",
        "",
      ],
      ["Allow leaves out HEAD", '["GET", "HEAD"]', '["GET"]'],
      [
        "Allow names methods that are refused",
        "!refusesItsMethod(contract)",
        "contract !== undefined",
      ],
    ],
  },
  {
    file: "daemon/api/idempotency.ts",
    tests: [
      "tests/daemon/api/idempotency_test.ts",
      "tests/daemon/api/idempotent_messages_test.ts",
      "tests/daemon/api",
    ],
    faults: [
      [
        "another body gets the answer of the first",
        "if (found && found.body_hash !== hashOf(idempotent)) {",
        "if (false) {",
      ],
      [
        "two requests with one key run at once",
        "if (!found && this.#running.has(keyOf(idempotent))) {",
        "if (false) {",
      ],
      [
        "senders share their keys",
        "where sender = :sender and route",
        "where :sender <> '' and route",
      ],
    ],
  },
];
