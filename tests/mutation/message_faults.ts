/** Faults in how messages are accepted, stepped and confirmed. */

import type { Target } from "./target.ts";

/** The tests that must find them. */
export const MESSAGES = [
  "tests/daemon/features/messages/delivery_test.ts",
  "tests/daemon/features/messages/resend_test.ts",
  "tests/daemon/features/messages/invariants_test.ts",
  "tests/daemon/features/messages/refused_deliveries_test.ts",
  "tests/daemon/features/messages/in_flight_test.ts",
  "tests/daemon/api/ws/protocol_test.ts",
  "tests/daemon/features/hooks",
  "tests/daemon/features/messages",
  "tests/daemon/api/ws",
];

export const MESSAGE_TARGETS: readonly Target[] = [
  {
    file: "daemon/features/messages/delivery.ts",
    tests: [...MESSAGES, "tests/daemon/features/asks", "tests/crash/jobs_test.ts"],
    faults: [
      [
        "a queued message waits for the next tick",
        "db.afterCommit(() => this.#deps.dispatcher.wake(peer_id));",
        "",
      ],
      [
        "a frame is sent before its row is on the disk",
        "db.afterCommit(() => this.#deps.sockets.push(session, ticket));",
        "this.#deps.sockets.push(session, ticket);",
      ],
      [
        "a closed ask stays in the queue",
        'if (message.state === "queued") return !this.#takeBack(message, reason);',
        'if (message.state === "queued") return false;',
      ],
      [
        "a declined ask counts as not delivered",
        '  "declined",\n]);',
        "]);",
      ],
      [
        "what was being sent at a crash is sent again by any transport",
        "if (message.repeatable) this.#deps.steps.repeated",
        "if (true) this.#deps.steps.repeated",
      ],
      [
        "an ask expires as a note does",
        "expires_at: opening || ttl_ms === undefined ? null : now + ttl_ms",
        "expires_at: ttl_ms === undefined ? null : now + ttl_ms",
      ],
      [
        "a message that its receiver can tell apart is not sent again after a crash",
        'this.#deps.steps.repeated(message, "daemon_restart");',
        'this.#deps.steps.written(message, "daemon_restart");',
      ],
      [
        "a message that went out expires",
        'if (message.state === "queued") this.#takeBack(message, "ttl");',
        'this.#takeBack(message, "ttl");\n    if (true) return;',
      ],
      [
        "a drained message that nobody settles is lost",
        "if (unsettled.length > 0) {",
        "if (unsettled.length > 1_000_000) {",
      ],
    ],
  },
  {
    file: "daemon/features/messages/receipts.ts",
    tests: MESSAGES,
    faults: [
      [
        "a peer confirms the messages of another",
        "if (!message || message.to_peer_id !== session.peer_id) return;",
        "if (!message) return;",
      ],
      [
        "a prompt proves what was never sent",
        'message?.to_peer_id !== peer_id || message.state === "queued"',
        "message?.to_peer_id !== peer_id",
      ],
      [
        "a prompt of one peer proves the messages of another",
        'if (message?.to_peer_id !== peer_id || message.state === "queued") continue;',
        'if (!message || message.state === "queued") continue;',
      ],
      [
        "the asker is not told of a refusal",
        'if (message.kind === "ask") this.#effects.undeliverable({ ...message, reason });',
        "",
      ],
      [
        "a message that was never sent can be refused",
        "if (!wasSent) return;",
        "",
      ],
    ],
  },
  {
    file: "daemon/features/messages/ledger/steps.ts",
    tests: MESSAGES,
    faults: [
      [
        "an attempt is not counted",
        "attempts: message.attempts + 1,",
        "attempts: message.attempts,",
      ],
      [
        "a step is not published",
        "events.step({ delivery_id, to_peer_id, state, transport });",
        "",
      ],
      [
        "a receipt that is too late changes the state",
        'const isNew = deliveryMachine.accepts(message.state, "accepted");',
        "const isNew = true;",
      ],
      [
        "an old reason stays after the next attempt",
        "attempted_at: this.#now(),\n      reason: null,",
        "attempted_at: this.#now(),",
      ],
    ],
  },
  {
    file: "daemon/features/messages/ledger/ledger.ts",
    tests: [
      "tests/daemon/features/messages/urgent_queue_test.ts",
      "tests/daemon/features/messages/commit_batching_test.ts",
      ...MESSAGES,
    ],
    faults: [
      [
        "an urgent message overtakes earlier ones of its sender",
        "max(seq) as last_urgent",
        "min(seq) as last_urgent",
      ],
      [
        "an urgent message holds the messages that its sender sent before",
        "(first_held is null or first_held > seq)",
        "first_held is null",
      ],
      [
        "a message between two that went out counts as sent",
        "if (range && number <= range.last + 1) range.last = number;",
        "if (range && number <= range.last + 2) range.last = number;",
      ],
      [
        "a message that was marked before counts as sent now",
        "if (marked === count) return",
        "if (marked > 0) return",
      ],
    ],
  },
];
