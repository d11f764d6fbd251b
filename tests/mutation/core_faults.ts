/** Faults in asks, commits, events, the guard, and what is measured by which clock. */

import type { Target } from "./target.ts";

/** The tests that must find them. */
const ASKS = ["tests/daemon/features/asks"];

export const CORE_TARGETS: readonly Target[] = [
  {
    file: "daemon/features/asks/ask_closer.ts",
    tests: ["tests/daemon/features/asks/outstanding_test.ts", ...ASKS],
    faults: [
      ["a waiter is not told", "db.afterCommit(() => this.#resolveWaiters(closedAsk));", ""],
      [
        "an asker that fetches the reply is told as well",
        'if (side === "asker" && (ask.reply_delivery === "pull" || ask.from_peer_id === null)) return;',
        'if (side === "asker" && ask.from_peer_id === null) return;',
      ],
      [
        "an answer proves no delivery",
        "const wasDelivered = delivery.release(ask.correlation_id, releaseReason);",
        "const wasDelivered = false;",
      ],
      ["a retired peer gets acks", '!to || to.status === "retired" ||', "!to ||"],
    ],
  },
  {
    file: "daemon/features/asks/asks.ts",
    tests: [...ASKS, "tests/daemon/features/inbox/ended_items_test.ts"],
    faults: [
      [
        "an ack with an option for a question that is over is a bare one",
        "!message && !option_id && ids.length === 0",
        "!message && ids.length === 0",
      ],
      [
        "a follow-up leaves the ask open that it answers",
        'if (before && before.state === "open" && before.to_peer_id === from.peer_id) {',
        "if (false) {",
      ],
      [
        "anybody's follow-up closes an ask",
        'if (before && before.state === "open" && before.to_peer_id === from.peer_id) {',
        'if (before && before.state === "open") {',
      ],
      [
        "anybody may cancel an ask",
        "if (!human) mustBeAsker(directory, ask, asker);",
        "",
      ],
      [
        "anybody may wait for an answer",
        "mustBeAsker(this.#deps.directory, found, asker);",
        "",
      ],
      [
        "a dry run asks",
        "if (body.dry_run) return { ticket: undefined, to, inbox: undefined };",
        "",
      ],
    ],
  },
  {
    file: "kit/data/group_commit.ts",
    tests: [
      "tests/kit/data",
      "tests/daemon/features/messages/commit_batching_test.ts",
      "tests/daemon/features/peers/identity/address_cache_test.ts",
    ],
    faults: [
      [
        "effects run although the commit failed",
        "if (error) return runAll(group.rollbackCallbacks.splice(0).toReversed(), log);",
        "",
      ],
      [
        "a caller is told before the commit",
        "return (group.durable ??= Promise.withResolvers()).promise;",
        "return Promise.resolve();",
      ],
      [
        "the effects of a refused transaction run",
        "group.effects.length = transaction.effects;",
        "",
      ],
      [
        "a transaction joins a group whose answer has left",
        "if (group?.turnsForAnswer === undefined) return group;",
        "return group;",
      ],
      ["a refused transaction is stored", 'this.#deps.exec("rollback to work");', ""],
      [
        "a full disk loses other transactions of the group silently",
        "return isFatal || !this.#deps.isInTransaction();",
        "return isFatal && false;",
      ],
      [
        "a caller gets an error of a read, and its writes are stored",
        "if (!this.#group || this.isWithinTransaction || !this.#failsGroup(error)) throw error;",
        "if (!this.#failsGroup(error) || error) throw error;",
      ],
      [
        "answers in memory stay after a rollback",
        'this.#deps.exec("release work");\n    this.#deps.onRollback();',
        'this.#deps.exec("release work");',
      ],
      [
        "transactions that arrive in the next turn do not share a commit",
        "if (isIdle || ++turns === COMMIT_TURNS_MAX) return commit();",
        "if (transactions + turns >= 0) return commit();",
      ],
    ],
  },
  {
    file: "daemon/data/event_log.ts",
    tests: ["tests/kit/data", "tests/daemon/api/events"],
    faults: [
      [
        "a reader sees an event that may be rolled back",
        "where id > :since and id <= :last",
        "where id > :since and :last >= 0",
      ],
      [
        "a failing listener keeps the event from the others",
        'this.#log.error("A listener failed", { error });',
        "throw error;",
      ],
      ["the event that was read last is read again", "where id > :since", "where id >= :since"],
    ],
  },
  {
    file: "daemon/api/guard.ts",
    tests: ["tests/daemon/api"],
    faults: [
      [
        "a page of another site acts",
        "if (origin !== null && !this.#isOwnOrigin(origin, host)) {",
        "if (false) {",
      ],
      [
        "any host name is ours",
        'if (!this.#isOwnHost(host)) throw new Problem("forbidden_host", { host });',
        "",
      ],
      [
        "a program of another user is let in",
        'const own = remote === undefined || access === "public" || isOwnUser(remote);',
        "const own = true;",
      ],
      [
        "a configured token is not needed",
        "const authorized = own && (auth_token === undefined || by_page);",
        "const authorized = own;",
      ],
    ],
  },
];

/** Faults of a clock that was set: what pauses, ages and limits are measured by. */
const STEPS = "tests/daemon/app/clock_steps_test.ts";

export const TIME_TARGETS: readonly Target[] = [
  {
    file: "kit/core/timeout.ts",
    tests: [STEPS, "tests/storm/storm_test.ts"],
    faults: [
      [
        "the scheduler pauses until its tick is due by the time of day",
        "for (let due = clock.monotonic() + every_ms; !signal.aborted; due += every_ms) {\n" +
        "    await pause(clock, Math.max(0, due - clock.monotonic()), signal);",
        "for (let due = clock.now() + every_ms; !signal.aborted; due += every_ms) {\n" +
        "    await pause(clock, Math.max(0, due - clock.now()), signal);",
      ],
    ],
  },
  {
    file: "kit/core/clock.ts",
    tests: ["tests/kit/core/clock_test.ts", STEPS, "tests/relay/app/clock_steps_test.ts"],
    faults: [
      [
        "the age of a record follows the time of day",
        "if (known?.since === since) return now - known.began_at;",
        "if (known?.since === since) return this.#clock.now() - since;",
      ],
      [
        "a time limit lasts longer when the clock is set back",
        "return this.#clock.now() >= this.ends_at ||\n" +
        "      this.#clock.boottime() >= this.#ends_at_boottime;",
        "return this.#clock.now() >= this.ends_at;",
      ],
      [
        "what is announced goes back with the clock",
        "this.#last = Math.max(this.#clock.now(), this.#last + read_at - this.#read_at);",
        "this.#last = this.#clock.now();",
      ],
      [
        "nobody notices that the clock was set",
        "return Math.abs(step_ms) < this.#step_ms_min ? 0 : step_ms;",
        "return 0;",
      ],
    ],
  },
  {
    file: "relay/web/rate_limiter.ts",
    tests: ["tests/relay/web/rate_limiter_test.ts"],
    faults: [
      [
        "a limit is counted by the time of day",
        "const now = this.#clock.monotonic();",
        "const now = this.#clock.now();",
      ],
    ],
  },
];
