/** Faults in how messages are accepted, sent, confirmed and limited. */

import type { Target } from "./target.ts";

/** The tests that must find them. */
const MESSAGES = ["tests/daemon/features/messages", "tests/daemon/api/ws"];

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
        'if (message.state === "queued") this.#deps.steps.dropped(message, reason);',
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
        "expires_at: opening ? null : now + ttl_ms",
        "expires_at: now + ttl_ms",
      ],
      [
        "a message that went out expires",
        'if (message.state === "queued") this.#deps.steps.expired(message, "ttl");',
        'this.#deps.steps.expired(message, "ttl");\n    if (true) return;',
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
        'if (message?.to_peer_id !== peer_id || message.state === "queued") return false;',
        'if (!message || message.state === "queued") return false;',
      ],
      [
        "the asker is not told of a refusal",
        'if (message.kind === "ask") this.#reactions.undeliverable({ ...message, reason });',
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
    tests: MESSAGES,
    faults: [
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
  {
    file: "daemon/features/messages/handover.ts",
    tests: [...MESSAGES, "tests/daemon/features/hooks"],
    faults: [
      [
        "a drain takes more than was asked for",
        "const deliveries = this.#deliverable(peer_id, max_results)",
        "const deliveries = this.#deliverable(peer_id, max_results + 1)",
      ],
      [
        "a drain overtakes what is being typed",
        ".filter(({ from_peer_name }) => !senders.has(from_peer_name));",
        ";",
      ],
      [
        "an unproved message is named again and again",
        "for (const { seq } of messages) ledger.update(tx, seq, { named_at: now });",
        "",
      ],
      [
        "a message handed to a hook is sent again by itself",
        "this.#handOver(message, false)",
        "this.#handOver(message, true)",
      ],
      [
        "a hook gets more bytes than it can take",
        "<= limits.bytes || at === 0",
        "<= limits.bytes * 100",
      ],
      [
        "a drain is settled twice",
        "if (drain_id !== undefined) this.#leased.delete(drain_id);",
        "",
      ],
    ],
  },
  {
    file: "daemon/features/messages/dispatch/dispatcher.ts",
    tests: [...MESSAGES, "tests/daemon/features/agents"],
    faults: [
      [
        "a message that its plugin may have is typed as well",
        'if (message.repeatable && message.transport === "websocket") {',
        "if (false) {",
      ],
      [
        "a message that was taken meanwhile is sent again",
        'if (current?.state !== "queued") return undefined;',
        "if (!current) return undefined;",
      ],
      [
        "the reason why a message waits is not stored",
        "this.#recordBlocked(message, reasons",
        "void (reasons",
      ],
      [
        "a second message in one pass is forgotten",
        "if (running) return void (running.repeat = true);",
        "if (running) return;",
      ],
    ],
  },
  {
    file: "daemon/features/messages/limits/limits.ts",
    tests: [...MESSAGES, "tests/daemon/features/asks"],
    faults: [
      [
        "the queue takes one message too many",
        "if (waiting >= max_per_peer)",
        "if (waiting > max_per_peer)",
      ],
      ["a chain is one follow-up too long", "if (hops > limit)", "if (hops > limit + 1)"],
      [
        "a full queue refuses answers as well",
        "if (!LIMITED_KINDS.has(message.kind) || message.notice) return;",
        "",
      ],
      [
        "a refused message counts",
        "db.afterRollback(this.#pairCounters.record(pair, clock.now()));",
        "this.#pairCounters.record(pair, clock.now());",
      ],
    ],
  },
  {
    file: "daemon/features/messages/websocket/sockets.ts",
    tests: MESSAGES,
    faults: [
      [
        "an older socket of a peer stays open",
        'if (previous && previous !== session) previous.close("superseded");',
        "",
      ],
      [
        "what a lost socket did not confirm is not sent again",
        'this.#steps.repeated(message, "socket_closed");',
        "",
      ],
      [
        "a new message overtakes the replay",
        "session.isCaughtUp = waiting.length === 0;",
        "session.isCaughtUp = true;",
      ],
      [
        "a frame that was not written counts as sent",
        "return this.#requeue(session, ticket);",
        "",
      ],
      [
        "a replay overtakes what is being typed",
        "if (!isElsewhereInFlight) this.replay(session);",
        "this.replay(session);",
      ],
    ],
  },
];
