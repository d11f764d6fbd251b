/** Faults in what machines exchange: messages, files, the directory, and calls. */

import type { Target } from "./target.ts";

const MACHINES = "tests/daemon/machines";
const EXCHANGE = [
  `${MACHINES}/exchange/stolen_machine_test.ts`,
  `${MACHINES}/exchange/exchange_test.ts`,
  `${MACHINES}/exchange/restored_sender_test.ts`,
  `${MACHINES}/exchange`,
];
const DOWNLOADS = [`${MACHINES}/files/downloads_test.ts`];
const UPLOADS = [`${MACHINES}/files/uploads_test.ts`];
const CALLS = [`${MACHINES}/calls/hostile_calls_test.ts`, `${MACHINES}/calls`];

const MESSAGE_TARGETS: readonly Target[] = [
  {
    file: "daemon/machines/exchange/incoming.ts",
    tests: [`${MACHINES}/exchange/proofs_elsewhere_test.ts`, ...EXCHANGE],
    faults: [
      [
        "any machine has checks run here",
        'if (!may_prove) throw new Problem("prove_from_machine", { machine: name });',
        "",
      ],
      [
        "a machine writes as a peer of another one",
        'if (local || owner !== machine.daemon_id) throw new EntryRefused("forged_sender");',
        "",
      ],
      [
        "every machine speaks as the human",
        'if (voice === "human") return may_administer ? "human" : "unverified";',
        'if (voice === "human") return "human";',
      ],
      [
        "a machine reaches peers that are not shared",
        'const isOpen = known && (to.role === "human" ? may_administer : this.#deps.isShared(to));',
        "const isOpen = known;",
      ],
      [
        "a message is delivered that expired on the way",
        'if (ttl_ms !== undefined && ttl_ms <= 0) throw new EntryRefused("expired_on_the_way");',
        "",
      ],
      ["a message is accepted again under the same id", "if (before) return;", ""],
      [
        "another message under the same id is confirmed",
        'if (before && !isRepeat(tx, before, { entry, digest })) throw new EntryRefused("id_reused");',
        "",
      ],
    ],
  },
  {
    file: "daemon/machines/exchange/store.ts",
    tests: [`${MACHINES}/exchange/restored_sender_test.ts`, ...EXCHANGE],
    faults: [
      [
        "a report is applied to another message with its id",
        "return isOther ? undefined : found;",
        "return found;",
      ],
    ],
  },
  {
    file: "daemon/machines/exchange/outgoing.ts",
    tests: EXCHANGE,
    faults: [
      [
        "a message that is further counts as sent again",
        'if (message.state !== "queued") return message;',
        "",
      ],
      [
        "a confirmed message stays sent",
        "if (message) this.#deps.steps.accepted(this.#written(tx, message));",
        "if (message) this.#written(tx, message);",
      ],
      [
        "a stage at the other machine is in the trace for each report",
        " && !before.has(stage)",
        "",
      ],
    ],
  },
  {
    file: "daemon/machines/exchange/exchange.ts",
    tests: EXCHANGE,
    faults: [
      [
        "a restored machine gets nothing again",
        "for (const seq of seqs.toReversed()) {",
        "for (const seq of seqs.slice(0, 0)) {",
      ],
      [
        "a peer whose answer came too late does not hear of it",
        'else if (kind === "late") this.#closings.applyLate(tx, machine, parseBody(LateEntry, body));',
        'else if (kind === "late") return;',
      ],
      [
        "a message that the other machine refuses stays sent",
        "for (const message of messagesOf([entry])) this.outgoing.refused(tx, message, reason);",
        "",
      ],
      [
        "the end of an ask's delivery is reported before how the ask was closed",
        "if (!isReportedByClosing) db.transact",
        "db.transact",
      ],
    ],
  },
];

const FILE_TARGETS: readonly Target[] = [
  {
    file: "daemon/machines/files/downloads.ts",
    tests: DOWNLOADS,
    faults: [
      [
        "a file is taken that is not the one which the message names",
        'if (bytes.length !== size || hashOf(bytes) !== file.sha256) return "damaged";',
        "",
      ],
      ["a file is fetched that is too large", 'if (size > bytes_max) return "too_large";', ""],
      [
        "a file is fetched again for each repeat of its entry",
        "return !row || (row.attachment === null && row.reason === null);",
        "return true;",
      ],
    ],
  },
  {
    file: "daemon/machines/files/uploads.ts",
    tests: UPLOADS,
    faults: [
      [
        "a file that the bus has dropped is not uploaded again",
        "return row.ready_at === null || row.ready_at + BUS_MS_MAX <= clock.now();",
        "return row.ready_at === null;",
      ],
      [
        "a file that changed on the disk is sent",
        "if (hashOf(bytes) === sha256) return bytes;",
        "if (bytes) return bytes;",
      ],
    ],
  },
  {
    file: "daemon/machines/files/transfers.ts",
    tests: [...DOWNLOADS, ...UPLOADS],
    faults: [
      [
        "the reason why a file is missing passes for the file",
        "`missing file ${object}`",
        "`file ${object}`",
      ],
    ],
  },
];

const CALL_TARGETS: readonly Target[] = [
  {
    file: "daemon/machines/calls/call_server.ts",
    tests: CALLS,
    faults: [
      [
        "every machine administers this one",
        "if (!administrators.includes(from)) {",
        'if (from === "") {',
      ],
      [
        "a repeated call is executed again",
        'if (checked === "repeated") refuse("it was answered before");',
        "",
      ],
      ["an old call is executed", "Math.abs(now - at) > CALL_AGE_MS_MAX || ", ""],
      ["a call that the last run answered is executed", " || at < this.#started_at", ""],
      ["a call is forgotten while it may be repeated", "if (expires_at >= now) return;", ""],
    ],
  },
  {
    file: "daemon/machines/calls/machine_names.ts",
    tests: [`${MACHINES}/calls/machine_names_test.ts`, ...CALLS],
    faults: [
      [
        "a machine whose name is an allowed id administers this one",
        "return !DAEMON_ID.test(name) && ",
        "return ",
      ],
    ],
  },
  {
    file: "daemon/machines/calls/codec.ts",
    tests: CALLS,
    faults: [
      ["the answer to one call answers another", "return `answer ${nonce}`;", 'return "answer";'],
    ],
  },
  {
    file: "daemon/machines/calls/inbox_home.ts",
    tests: [`${MACHINES}/calls/inbox_home_test.ts`],
    faults: [
      [
        "an agent answers the inbox at home as the human",
        "human,\n      });",
        "human: true,\n      });",
      ],
      [
        "an act on the inbox that may have been done counts as not done",
        "throw unreachable(name, reason, may_have_been_delivered);",
        "throw unreachable(name, reason, false);",
      ],
    ],
  },
];

const DIRECTORY_TARGETS: readonly Target[] = [
  {
    file: "daemon/machines/run_claim.ts",
    tests: [`${MACHINES}/run_claim_test.ts`],
    faults: [
      [
        "a second run of a daemon id takes part beside the first one",
        'if (outcome !== "silent") this.#refuse(outcome);',
        "",
      ],
      [
        "a run that was stopped applies what it finds on waking",
        "return this.#isProved(HOLD_MS) ? undefined : this.#prove();",
        "return undefined;",
      ],
      [
        "a run does not learn that another one has taken its place",
        'if (kind === "taken" && this.#isHeld) {',
        'if (kind === "held" && this.#isHeld) {',
      ],
      [
        "a copy takes the place of a machine that is restarted",
        "if (holder && clock.monotonic() - holder.heard_at < RESTART_MS) throw this.#inUse();",
        "",
      ],
      ["anybody speaks as a run of this machine", "if (!isOwn) return undefined;", ""],
    ],
  },
  {
    file: "daemon/machines/directory/machine_directory.ts",
    tests: [`${MACHINES}/directory/receiving_test.ts`, `${MACHINES}/directory`],
    faults: [
      [
        "a silent machine stays online",
        "if (now - lease.renewed_at >= LEASE_MS) this.#end(lease);",
        "",
      ],
      [
        "the peers of a machine that is offline stay online",
        "this.#deps.remotePeers.endLease(tx, daemon_id);",
        "",
      ],
      [
        "a heartbeat does not keep its machine online",
        "if (isBeatOf(from, lease.verify_key, beat)) this.#seen(lease, beat.seq);",
        "",
      ],
      [
        "the heartbeat of anybody keeps a machine online",
        "if (isBeatOf(from, lease.verify_key, beat)) this.#seen(lease, beat.seq);",
        "this.#seen(lease, beat.seq);",
      ],
      [
        "a repeated heartbeat keeps a machine online",
        "if (lease?.run !== beat.run || beat.seq <= lease.seq) return;",
        "if (lease?.run !== beat.run) return;",
      ],
      [
        "the entry that a heartbeat names is not asked for",
        "if (this.#missing.size < REFUSED_MACHINES_MAX) this.#missing.set(daemon_id, -Infinity);",
        "",
      ],
      [
        "the bus can say of any machine that it went",
        "if (before && before.run === undefined) this.#end(before);",
        "if (before) this.#end(before);",
      ],
      [
        "a machine that is refused is not told",
        "for (const { to, notice } of this.refusals.takeDue()) this.#sendNotice(to, notice);",
        "",
      ],
    ],
  },
  {
    file: "daemon/machines/directory/machine_refusals.ts",
    tests: [`${MACHINES}/directory/refusals_test.ts`],
    faults: [
      [
        "a refusal of another machine counts as one of this machine",
        "if (data?.to !== this.#me) return;",
        "if (!data) return;",
      ],
      [
        "a refusal is told with every entry",
        "can_hear && now - notified_at >= NOTICE_MS",
        "can_hear && notified_at < now",
      ],
    ],
  },
  {
    file: "daemon/machines/directory/own_entry.ts",
    tests: [`${MACHINES}/directory`],
    faults: [
      [
        "a change of the peers waits for the next renewal",
        "if (!isDue && revision === this.#read_revision) return undefined;",
        "if (!isDue) return undefined;",
      ],
      [
        "the whole entry is sent each time",
        "if (!isEntry) return bus.beat(this.#sealBeat());",
        "",
      ],
      [
        "machines without heartbeats lose sight of this one",
        "|| isWholeNeeded()",
        "",
      ],
    ],
  },
];

export const MACHINES_TARGETS: readonly Target[] = [
  ...MESSAGE_TARGETS,
  ...FILE_TARGETS,
  ...CALL_TARGETS,
  ...DIRECTORY_TARGETS,
];
