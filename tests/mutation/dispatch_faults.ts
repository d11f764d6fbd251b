/** Faults in how messages are drained, dispatched, limited and sent to sockets. */

import { MESSAGES } from "./message_faults.ts";
import type { Target } from "./target.ts";

export const DISPATCH_TARGETS: readonly Target[] = [
  {
    file: "daemon/features/agents/generic/generic.ts",
    tests: ["tests/daemon/features/agents/generic/drawn_cursor_test.ts"],
    faults: [[
      "the composer of a program that draws its own cursor is not found",
      "if (!drawn) return undefined;",
      "if (drawn) return undefined;",
    ]],
  },
  {
    file: "daemon/features/agents/screens.ts",
    tests: ["tests/daemon/features/agents/generic/drawn_cursor_test.ts"],
    faults: [[
      "a coloured placeholder is a draft",
      'typed += style.faint || style.coloured ? "" : part;',
      'typed += style.faint ? "" : part;',
    ]],
  },
  {
    file: "daemon/features/messages/handover.ts",
    tests: [
      "tests/daemon/features/hooks",
      "tests/daemon/features/peers/peer_records_test.ts",
      ...MESSAGES,
    ],
    faults: [
      [
        "a drain takes more than was asked for",
        "this.#lease(this.#deliverable(peer_id, max_results));",
        "this.#lease(this.#deliverable(peer_id, max_results + 1));",
      ],
      [
        "a drain overtakes what is being typed",
        ".filter(({ from_peer_name }) => !senders.has(from_peer_name));",
        ";",
      ],
      [
        "a reader drains for a peer that may not be addressed",
        "if (!directory.resolve(peer_id).addressable) {",
        "if (false) {",
      ],
      [
        "an unproved message is named again and again",
        "for (const { seq } of messages) ledger.update(tx, seq, { named_at: now });",
        "",
      ],
      [
        "a message handed to a hook is sent again by itself",
        'steps.handedOver(fittingBatch, "hook", false)',
        'steps.handedOver(fittingBatch, "hook", true)',
      ],
      [
        "a hook gets more bytes than it can take",
        "<= limits.bytes || at === 0",
        "<= limits.bytes * 100",
      ],
      [
        "a drain is settled twice",
        'db.afterCommit(() => void this.#leased.delete(drain_id ?? ""));',
        "",
      ],
    ],
  },
  {
    file: "daemon/features/messages/dispatcher.ts",
    tests: [
      ...MESSAGES,
    ],
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
        "this.#recordBlocked(message, result",
        "void (result",
      ],
      [
        "a second message in one pass is forgotten",
        "if (running) return void (running.repeat = true);",
        "if (running) return;",
      ],
    ],
  },
  {
    file: "daemon/features/messages/limits.ts",
    tests: [
      "tests/daemon/features/messages/limits_test.ts",
      ...MESSAGES,
      "tests/daemon/features/asks",
    ],
    faults: [
      [
        "the queue takes one message too many",
        "if (waiting >= max_per_peer)",
        "if (waiting > max_per_peer)",
      ],
      ["a chain is one follow-up too long", "if (hops > limit)", "if (hops > limit + 1)"],
      [
        "a full queue refuses answers as well",
        "if (!LIMITED_KINDS.has(message.kind) || message.notice) return 0;",
        "",
      ],
      [
        "a refused message counts",
        "this.#ctx.db.afterRollback(this.#pairCounters.record(pair, at));",
        "this.#pairCounters.record(pair, at);",
      ],
    ],
  },
  {
    file: "daemon/features/messages/websocket/sockets.ts",
    tests: ["tests/daemon/api/events/stream_backlog_test.ts", ...MESSAGES],
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
