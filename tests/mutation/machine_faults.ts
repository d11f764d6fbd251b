/** Faults in what machines believe of each other: keys, links, and the bus on NATS. */

import type { Target } from "./target.ts";

const TRUST = "tests/daemon/machines/trust";
const PINS = ["tests/daemon/machines/trust/machine_trust_test.ts"];
const LINKS = ["tests/daemon/machines/links"];
const NATS = "tests/daemon/machines/nats";

const TRUST_TARGETS: readonly Target[] = [
  {
    file: "daemon/machines/trust/cards.ts",
    tests: [`${TRUST}/cards_test.ts`, ...PINS],
    faults: [
      [
        "a card that its machine did not sign is accepted",
        'return isSigned ? { ok: true, card } : { ok: false, reason: "not_signed", card };',
        "return { ok: true, card };",
      ],
      [
        "a machine without the network secret is accepted",
        "if (!crypto().timingSafeEqual(proof, proofOf(bytes, network))) {",
        "if (proof.length === 0) {",
      ],
      [
        "a public key that leads to a secret known to all is accepted",
        "if (!isAgreeKey(card.agree)) {",
        'if (card.agree === "") {',
      ],
    ],
  },
  {
    file: "daemon/machines/trust/envelope.ts",
    tests: [`${TRUST}/envelope_test.ts`, ...PINS],
    faults: [
      [
        "the signature of an envelope is not checked",
        "return verify(channel.verify_key, about, bytes, signature) ? bytes : null;",
        "return bytes;",
      ],
      [
        "an envelope for one purpose opens for another",
        'return ["mesh bus 1", from, to, context];',
        'return ["mesh bus 1", from, to];',
      ],
      [
        "a machine that joined again is still known by its old keys",
        "const id = `${daemon_id} ${sign} ${agree}`;",
        "const id = daemon_id;",
      ],
    ],
  },
  {
    file: "daemon/machines/trust/sealing.ts",
    tests: [`${TRUST}/sealing_test.ts`],
    faults: [
      [
        "sealed bytes open in any context",
        "return utf8.encode(context);",
        'return utf8.encode("");',
      ],
    ],
  },
  {
    file: "daemon/machines/trust/announcement.ts",
    tests: [`${TRUST}/announcement_test.ts`],
    faults: [
      [
        "a machine announces itself under the id of another one",
        "if (!checked.ok || checked.card.daemon_id !== daemon_id) return null;",
        "if (!checked.ok) return null;",
      ],
      [
        "a machine announces peers with the card of another one",
        "if (!verify(toVerifyKey(checked.card.sign), [purpose], content, signature)) return null;",
        "",
      ],
    ],
  },
  {
    file: "daemon/machines/trust/machine_trust.ts",
    tests: PINS,
    faults: [
      [
        "other keys replace those that are pinned",
        "if (trusted && !haveSameKeys(card, trusted)) {",
        "if (trusted && trusted.daemon_id !== card.daemon_id) {",
      ],
      [
        "a card that is shown again gives a machine its old name",
        "if (pinned && card.created_at <= pinned.card.created_at) {",
        "if (pinned && card.created_at === pinned.card.created_at) {",
      ],
      [
        "a machine takes the name of another one",
        "if (holder && holder.daemon_id !== card.daemon_id) {",
        'if (holder && holder.daemon_id === "") {',
      ],
      [
        "a known machine takes a name with rights",
        "if (this.#takesReserved(pinned, card)) return refuse(refusals.nameReserved(card, pinned));",
        "",
      ],
    ],
  },
  {
    file: "daemon/machines/trust/seal.ts",
    tests: PINS,
    faults: [
      [
        "a machine that was forgotten is still believed",
        "if (revision !== this.#revision) this.#holders.clear();",
        "",
      ],
    ],
  },
];

const LINK_TARGETS: readonly Target[] = [
  {
    file: "daemon/machines/links/incoming_link.ts",
    tests: LINKS,
    faults: [
      [
        "an entry has no receipt",
        "store.insertReceipt(tx, this.#daemonId, entry.tag, receiptTime(entry.at, clock.now()));",
        "",
      ],
      ["a repeated entry is applied again", "if (known.has(entry.tag)) continue;", ""],
      ["an entry that a batch holds twice is applied twice", "known.add(entry.tag);", ""],
      [
        "a batch behind a missing one is applied",
        "return store.knownTags(db, this.#daemonId, [previous]).has(previous);",
        "return true;",
      ],
      [
        "an entry is applied whose receipt may be gone",
        "return Math.abs(now - toOwnClock(at, ahead_ms)) <= ENTRY_MS_MAX;",
        "return true;",
      ],
      [
        "the time of another machine is taken as it is",
        "Math.abs(now - toOwnClock(at, ahead_ms))",
        "Math.abs(now - at)",
      ],
      [
        "the receipt of an entry from a clock that was ahead does not last",
        "return Math.min(Math.max(at, now), now + RECEIPT_AHEAD_MS_MAX);",
        "return now;",
      ],
      [
        "the sender of a refused entry does not hear of it",
        "this.#refuse(tx, { tag: entry.tag, reason });",
        "",
      ],
      [
        "a repeat of a refused entry is confirmed",
        "if (known.size > 0) this.#refuseAgain(tx, store.refusalsOf(tx, this.#daemonId, tags));",
        "",
      ],
      [
        "a machine that went back does not get the refusals that it lost",
        "store.refusalsSince(tx, { daemon_id, since, limit: REFUSED_AGAIN_MAX })",
        "[]",
      ],
      [
        "a refused entry loses its place before it is confirmed",
        "else store.endEntry(tx, refused.entry_id);",
        "else store.deleteEntry(tx, refused.entry_id);",
      ],
      [
        "a machine that went back believes the time of an entry that it has lost",
        "const isBefore = at < (store.confirmedAt(db, daemon_id) ?? Infinity);",
        "const isBefore = true;",
      ],
      [
        "a sender that went back is not noticed by its new entries",
        "return !store.wasTooOld(tx, this.#daemonId, before);",
        "return false;",
      ],
      [
        "nobody asks for a missing batch",
        'db.afterCommit(() => outgoing.answer("resend"));',
        "",
      ],
    ],
  },
  {
    file: "daemon/machines/links/links.ts",
    tests: LINKS,
    faults: [
      [
        "a clock that is not measured yet is believed",
        "if (incoming.isInDoubt(batch)) await this.#deps.measureClock(from);",
        "",
      ],
      [
        "a batch that does not open is read as it came",
        "const batch = opened ? decodeBatch(opened) : undefined;",
        "const batch = decodeBatch(opened ?? bytes);",
      ],
      [
        "a disk that is full when the bus is back stops the links",
        "this.#deps.db.failures.repeatUntilStored((tx) => {\n      for",
        "this.#deps.db.transactLazily((tx) => {\n      for",
      ],
      ["a batch is taken before it is on the disk", "await db.whenDurable();", ""],
      [
        "an entry is withdrawn that the bus may have",
        "if (this.#links.get(daemonId)?.outgoing.wasHanded(entry_id)) return false;",
        "",
      ],
      [
        "an entry of an earlier run is withdrawn",
        "if (entry_id === undefined || entry_id <= this.#before) return false;",
        "if (entry_id === undefined) return false;",
      ],
      [
        "receipts are deleted before their entries are too old",
        "const RECEIPT_MS_MAX = ENTRY_MS_MAX + 86_400_000;",
        "const RECEIPT_MS_MAX = ENTRY_MS_MAX - 86_400_000;",
      ],
      [
        "an entry is sent for ever",
        "const isDue = (oldest !== undefined && now - oldest > ENTRY_MS_MAX) ||",
        "const isDue =",
      ],
    ],
  },
  {
    file: "daemon/machines/links/outgoing_link.ts",
    tests: LINKS,
    faults: [
      [
        "a request to resend changes nothing",
        "this.#chain = { published: published ?? 0, previous: applied };",
        "void published;",
      ],
      [
        "the first batch of a run hides that entries before it are missing",
        "previous: store.confirmedTag(db, daemon_id) ?? null,",
        "previous: null,",
      ],
      [
        "a repeat of entries begins where the receiver may not be",
        "{ published: published ?? 0, previous: applied }",
        "{ published: published ?? 0, previous: null }",
      ],
      [
        "a request to resend does not say from where",
        "due.resend && position.applied_at !== undefined",
        "due.resend",
      ],
      [
        "each batch behind a lost one causes everything to be sent again",
        "if (!this.#mayResend()) return;",
        "",
      ],
      [
        "a bus that lost its store is not noticed after a reconnection",
        "this.#due.probe = true;\n    this.#retry.reset();",
        "this.#retry.reset();",
      ],
      [
        "a confirmation covers an entry whose refusal waits",
        "if (store.hasRefusalAfter(db, this.#daemonId, last)) return { applied: null };",
        "",
      ],
      [
        "an entry that is too large for the bus holds up all others",
        "if (rest.length === 0) this.#refuse(first);",
        "",
      ],
    ],
  },
];

const NATS_TARGETS: readonly Target[] = [
  {
    file: "daemon/machines/nats/batches.ts",
    tests: [`${NATS}/batches_test.ts`],
    faults: [
      [
        "a batch is acknowledged before it is taken",
        "await this.#deps.deliver(from, message.data);",
        "message.ack();\n        await this.#deps.deliver(from, message.data);",
      ],
      [
        "a batch that was taken is not acknowledged",
        "message.ack();\n      handled++;",
        "handled++;",
      ],
    ],
  },
  {
    file: "daemon/machines/nats/store.ts",
    tests: [`${NATS}/hostile_member_test.ts`],
    faults: [
      [
        "one message of a member replaces all others of a stream",
        "allow_rollup_hdrs: false, deny_delete: true, deny_purge: true",
        "allow_rollup_hdrs: true, deny_delete: true",
      ],
      [
        "the answer to a publication can purge a stream",
        "deny_delete: true, deny_purge: true",
        "deny_delete: true",
      ],
      [
        "the files of earlier versions are lost when the store is changed",
        "return isOld ? { ...config, max_msgs_per_subject: -1 } : config;",
        "return config;",
      ],
    ],
  },
  {
    file: "daemon/machines/nats/names.ts",
    tests: [`${NATS}/names_test.ts`],
    faults: [
      [
        "a subject names a sender that is no machine",
        "from && DAEMON_ID.test(from) ? from : undefined;",
        "from ? from : undefined;",
      ],
    ],
  },
  {
    file: "daemon/machines/nats/calls.ts",
    tests: [`${NATS}/permissions_test.ts`, `${NATS}/calls_test.ts`],
    faults: [
      [
        "a caller chooses the subject on which this machine publishes",
        "if (!isOwnReply || this.#served >= SERVED_MAX) return;",
        "if (from === undefined || this.#served >= SERVED_MAX) return;",
      ],
    ],
  },
  {
    file: "daemon/machines/nats/directory.ts",
    tests: [`${NATS}/directory_test.ts`],
    faults: [
      [
        "an old entry that is read again keeps a machine online",
        "if (this.#known.get(daemonId)?.version === version) return;",
        "",
      ],
      [
        "a silent machine stays online",
        "this.#forget(daemonId);\n    }\n    this.#setTimer();",
        "}",
      ],
    ],
  },
  {
    file: "daemon/machines/nats/session.ts",
    tests: [`${NATS}/frozen_link_test.ts`],
    faults: [
      [
        "a link that passes nothing stays connected",
        'if (status.type === "staleConnection") this.#fail(new Error("it does not answer"));',
        "",
      ],
    ],
  },
  {
    file: "daemon/machines/nats/nats_bus.ts",
    tests: [`${NATS}/frozen_link_test.ts`],
    faults: [
      [
        "a bus that is closed waits for a frozen handshake",
        "else this.#link?.destroy();",
        "",
      ],
    ],
  },
  {
    file: "daemon/machines/nats/link.ts",
    tests: [`${NATS}/empty_write_test.ts`],
    faults: [
      [
        "an empty write blocks a TLS socket for ever",
        "return catchErrors(skipEmptyWrites(socket));",
        "return catchErrors(socket);",
      ],
    ],
  },
  {
    file: "cli/client/event_stream.ts",
    tests: ["tests/cli/client/silent_daemon_test.ts"],
    faults: [
      [
        "a reader of events waits for a frozen daemon for ever",
        "new Silence(clock, SILENCE_MS_MAX, () => lost.abort());",
        "new Silence(clock, SILENCE_MS_MAX, () => undefined);",
      ],
    ],
  },
  {
    file: "daemon/machines/nats/reasons.ts",
    tests: [`${NATS}/reasons_test.ts`, `${NATS}/batches_test.ts`],
    faults: [
      [
        "a full bus counts as a failure",
        'const reason = FULL_CODES.has(code) ? "full" : ',
        "const reason = ",
      ],
    ],
  },
];

export const MACHINE_TARGETS: readonly Target[] = [
  ...TRUST_TARGETS,
  ...LINK_TARGETS,
  ...NATS_TARGETS,
];
