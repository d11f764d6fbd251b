/** Faults of a clock that was set: what pauses, ages and limits are measured by. */

import type { Target } from "./target.ts";

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
    tests: [STEPS, "tests/relay/app/clock_steps_test.ts", "tests/daemon/features/federation"],
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
        "return Math.abs(step_ms) < STEP_MS_MIN ? 0 : step_ms;",
        "return 0;",
      ],
    ],
  },
  {
    file: "relay/web/net/rate_limiter.ts",
    tests: ["tests/relay/web/net/rate_limiter_test.ts"],
    faults: [
      [
        "a limit is counted by the time of day",
        "const now = this.#clock.monotonic();",
        "const now = this.#clock.now();",
      ],
    ],
  },
];
