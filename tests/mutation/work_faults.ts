/** Faults in schedules, jobs, budgets, loops, the inbox, and what is deleted when it is old. */

import type { Target } from "./target.ts";

/** The tests that must find them. */
const JOBS = ["tests/daemon/features/jobs"];
const SCHEDULES = ["tests/daemon/features/schedules"];
const INBOX = ["tests/daemon/features/inbox", "tests/daemon/features/asks"];

const REVIEWS = ["tests/daemon/features/reviews"];
const EVIDENCE = ["tests/daemon/features/agents/question_evidence_test.ts"];
const APPROVALS = ["tests/daemon/features/asks/questions/approvals_test.ts"];

const BUDGETS = "tests/daemon/features/budgets";
const SESSION_READING = "tests/daemon/features/transcripts/session_reading_test.ts";

const PROOFS = [
  "tests/daemon/features/proofs/proofs_test.ts",
  "tests/daemon/features/proofs/hostile_test.ts",
];
const ELSEWHERE = "tests/daemon/machines/exchange/proofs_elsewhere_test.ts";
const CLAIMS = ["tests/daemon/features/proofs/claims_test.ts"];

export const WORK_TARGETS: readonly Target[] = [
  {
    file: "daemon/features/limits/limits.ts",
    tests: ["tests/daemon/features/limits/limits_test.ts"],
    faults: [
      [
        "any turn of the account that ends well answers for the probe",
        "if (isProbe) return this.#clear(limit);",
        'if (state === "probing") return this.#clear(limit);',
      ],
      [
        "messages go beside the probe",
        "if (probe_peer_id !== null) return false;",
        'if (probe_peer_id === "") return false;',
      ],
    ],
  },
  {
    file: "daemon/features/limits/request_storms.ts",
    tests: ["tests/daemon/features/limits/request_storms_test.ts"],
    faults: [
      [
        "an agent that waited between two answers is in a storm",
        "if (!isBusy) turn.busy_since = now;",
        "",
      ],
    ],
  },
  {
    file: "daemon/features/wakes/wakes.ts",
    tests: [
      "tests/daemon/features/wakes/guests_test.ts",
      "tests/daemon/features/messages/storage_failures_test.ts",
    ],
    faults: [
      [
        "an agent that works for a guest wakes others without a question",
        "|| is_elsewhere || isOutside(chain)) return false;",
        "|| is_elsewhere) return false;",
      ],
      [
        "not now to a guest holds the asks of agents",
        "return !this.#isOfOutside(last) || asks.every(({ chain }) => isOutside(chain));",
        "return true;",
      ],
      [
        "a guest asks again right after not now",
        "return !this.#isOfOutside(last) || asks.every(({ chain }) => isOutside(chain));",
        "return !this.#isOfOutside(last);",
      ],
      [
        "an ask that came while a guest's was in question is never shown",
        "else this.#ctx.db.transact((tx) => this.#askAgain(tx, wake));",
        "",
      ],
      [
        "an ask is refused after it was stored",
        'background.failed("The answer to an ask lacks the sleep of its recipient", error);',
        "throw error;",
      ],
    ],
  },
  {
    file: "daemon/features/agents/claude_code/status_line.ts",
    tests: ["tests/daemon/features/agents/claude_code/status_line_test.ts"],
    faults: [
      [
        "the user's own status line is replaced",
        'if (!plan?.wanted || settings["statusLine"] !== undefined) return settings;',
        "if (!plan?.wanted) return settings;",
      ],
    ],
  },
  {
    file: "daemon/features/joint_checks/joint_checks.ts",
    tests: ["tests/daemon/features/joint_checks"],
    faults: [
      [
        "work that fails alone is reported, too",
        'first.trial.result === "passed" && second.trial.result === "passed"',
        'first.trial.result !== second.trial.result || first.trial.result !== "failed"',
      ],
      [
        "half-written files of a turn count",
        'await takeSnapshot(git, peer.turn_state !== "working")',
        "await takeSnapshot(git, true)",
      ],
      [
        "a turn of an author settles a report",
        'every(({ peer }) => peer.turn_state !== "working")',
        "every(() => true)",
      ],
      [
        "a peer that anybody registered is shown the work of others",
        "if (!peer.session_proved) continue;",
        "",
      ],
      [
        "a peer that anybody registered in a folder reads the output of checks there",
        "asker?.session_proved ? repositoryKey(asker.path) : undefined",
        "asker && repositoryKey(asker.path)",
      ],
    ],
  },
  {
    file: "daemon/features/joint_checks/joint_reports.ts",
    tests: ["tests/daemon/features/joint_checks"],
    faults: [
      [
        "authors of two circles are shown each other's work",
        "asked.peer.circle === other.peer.circle",
        "true",
      ],
      [
        "an author who comes back is asked again",
        'if (statuses.includes("offline") && !statuses.includes("retired")) continue;',
        "",
      ],
      [
        "the human is informed although the authors still talk",
        'ask?.state !== "open" && (',
        "(",
      ],
    ],
  },
  {
    file: "daemon/features/budgets/budgets.ts",
    tests: [`${BUDGETS}/escapes_test.ts`, `${BUDGETS}/budgets_test.ts`],
    faults: [
      [
        "a message with a budget that another peer gets counts to none",
        "this.#peers.add(draft.to.peer_id);",
        "",
      ],
      [
        "a follow-up takes its sender out of the budget",
        "return isWithin ? before : own;",
        "return before;",
      ],
      [
        "a spent budget refuses no message",
        "if (!isReply && !message.notice && !isOfHuman) {",
        "if (isReply && message.notice && !isOfHuman) {",
      ],
      [
        "budgets that could not be removed count no more",
        "db.afterCommit(() => this.#forgetUnused());",
        "this.#peers.reload();\n      this.#isAny = store.isAny(db);",
      ],
    ],
  },
  {
    file: "daemon/features/budgets/budgeted_peers.ts",
    tests: [`${BUDGETS}/budgets_test.ts`],
    faults: [
      [
        "a restart takes all agents out of their budgets",
        "[...store.budgetedPeers(this.#db), ",
        "[",
      ],
      [
        "a restart forgets that a queued message counts to a budget",
        ", ...this.#ports.budgetedRecipients()]",
        "]",
      ],
    ],
  },
  {
    file: "daemon/features/agents/sessions/new_records.ts",
    tests: [SESSION_READING],
    faults: [
      ["an unchanged file is read again", "before?.stamp === stamp", 'before?.stamp === ""'],
      [
        "the new calls of a replaced file are lost",
        "isReplaced: known !== undefined && !part.isContinued",
        "isReplaced: false",
      ],
      [
        "the calls before the proof of a session are lost",
        "const known = isBehind ? undefined : cursor;",
        "const known = isBehind ? cursor : cursor;",
      ],
    ],
  },
  {
    file: "daemon/features/agents/sessions/repeats.ts",
    tests: [SESSION_READING],
    faults: [
      [
        "after a restart, calls that are written again count again",
        "if (part.isContinued && (searched.position?.at ?? 0) < part.from) await this.in(file);\n    else this.#compare",
        "this.#compare",
      ],
    ],
  },
  {
    file: "daemon/features/agents/sessions/growing_file.ts",
    tests: [SESSION_READING],
    faults: [
      [
        "a file that was replaced is read on in its middle",
        "hashOfBytes(bytes.subarray(0, probed)) !== position.before",
        "bytes.length < probed",
      ],
    ],
  },
  {
    file: "daemon/features/breakers/loops.ts",
    tests: ["tests/daemon/features/breakers/loops_test.ts"],
    faults: [
      [
        "an exchange is interrupted only when it is found",
        'found.isReported && this.#deps.action !== "interrupt"',
        "found.isReported",
      ],
    ],
  },
  {
    file: "daemon/features/agents/codex/session_files.ts",
    tests: ["tests/daemon/features/agents/sessions/outcomes_test.ts"],
    faults: [
      [
        "the tools of mesh look like other work of Codex",
        "namespace === undefined ? name : `${namespace}__${name}`",
        "namespace === undefined ? name : name",
      ],
    ],
  },
  {
    file: "daemon/features/schedules/fires.ts",
    tests: SCHEDULES,
    faults: [
      [
        "missed fires are all made up for",
        ", now) ?? null;",
        ", schedule.next_fire_at ?? now) ?? null;",
      ],
      [
        "a message is sent again if its fire is not recorded",
        "return db.transact(() => {\n        const last_message_id = this.#send(schedule, now);\n",
        "const last_message_id = this.#send(schedule, now);\n      return db.transact(() => {\n",
      ],
    ],
  },
  {
    file: "daemon/features/peers/turn_end.ts",
    tests: ["tests/daemon/features/peers/turn_end_test.ts", "tests/daemon/features/jobs/fires"],
    faults: [
      [
        "the end of a later turn completes a job",
        ".toSorted((a, b) => a.at - b.at)",
        ".toSorted((a, b) => b.at - a.at)",
      ],
      [
        "an interruption ends a turn whose prompt waited behind it",
        " && !prompts_since.some(isOfTurn)",
        "",
      ],
      [
        "a turn that no source saw end lasts for ever",
        "if (idle === null || idle.at <= begun_at) return undefined;",
        "return undefined;",
      ],
    ],
  },
  {
    file: "daemon/features/peers/turns.ts",
    tests: ["tests/daemon/features/jobs/fires", "tests/daemon/features/notifications"],
    faults: [
      [
        "an interruption is an end like any other",
        'if (interrupted || error === INTERRUPTED) return [{ how: "interrupted", at, source }];',
        "",
      ],
    ],
  },
  {
    file: "daemon/features/jobs/fires/turns.ts",
    tests: JOBS,
    faults: [
      [
        "a fire that an idle executor does not read blocks its template",
        'if (idle && this.#isLeftUnread(attempt, idle.at)) this.#fail(attempt, "turn_not_started");',
        "",
      ],
    ],
  },
  {
    file: "daemon/features/agents/sessions/lines.ts",
    tests: ["tests/daemon/features/agents/sessions"],
    faults: [
      [
        "a history that an agent writes again is read as new",
        "if (!this.#skipped.has(line_end)) yield { end: line_end, text };",
        "yield { end: line_end, text };",
      ],
    ],
  },
  {
    file: "daemon/features/agents/opencode/plugin/connection.ts",
    tests: ["tests/daemon/features/agents/opencode/plugin"],
    faults: [
      [
        "a report goes to a connection that is about to be replaced",
        "if (this.#connecting || this.#current?.readyState !== WebSocket.OPEN) return;",
        "if (this.#current?.readyState !== WebSocket.OPEN) return void this.#waiting.splice(0);",
      ],
    ],
  },
  {
    file: "daemon/features/agents/codex/codex.ts",
    tests: ["tests/daemon/features/agents/codex"],
    faults: [
      [
        "a queue that Codex holds after an interruption is not started again",
        'if (activity === "idle") await startQueue(connection, queue);',
        "",
      ],
    ],
  },
  {
    file: "daemon/features/agents/codex/native_transport.ts",
    tests: ["tests/daemon/features/agents/codex"],
    faults: [
      [
        "a message enters a queue that could not be started again",
        'if (!isIdle) return "turn_not_over";',
        "",
      ],
    ],
  },
  {
    file: "cli/output/views.ts",
    tests: ["tests/cli/live/render", "tests/cli/commands/peer_list_test.ts"],
    faults: [
      [
        "a peer whose way in is degraded has none",
        '  return transport === "none" ? styled("yellow", NO_WAY_IN) : transport;',
        '  return transport !== "websocket" ? styled("yellow", NO_WAY_IN) : transport;',
      ],
    ],
  },
  {
    file: "tools/selftest/harness.ts",
    tests: ["tests/tools/selftest"],
    faults: [
      [
        "a process that still writes ends the self-test of all agents",
        'if (code !== "ENOTEMPTY" && code !== "ENOENT") throw error;',
        "throw error;",
      ],
    ],
  },
  {
    file: "daemon/features/jobs/updates.ts",
    tests: JOBS,
    faults: [
      [
        "an attempt that ended ends the next one",
        "if (attempt_id !== undefined && attempt_id !== attempt?.attempt_id) {",
        "if (false) {",
      ],
      [
        "a job that has ended is changed",
        'if (this.#steps.isSettled(job)) throw illegalState(job, "update");',
        "",
      ],
    ],
  },
  {
    file: "daemon/features/jobs/transitions.ts",
    tests: JOBS,
    faults: [
      [
        "an agent that was started for a job is never ended",
        'started && !keepsExecutor ? "due" as const : null',
        'started && false ? "due" as const : null',
      ],
      [
        "a persistent agent is ended with its job",
        "started && !keepsExecutor",
        "started",
      ],
    ],
  },
  {
    file: "daemon/features/schedules/store.ts",
    tests: SCHEDULES,
    faults: [
      ["a schedule fires after its time", "next_fire_at <= :now", "next_fire_at <= :now - 1000"],
    ],
  },
  {
    file: "daemon/features/schedules/timing.ts",
    tests: SCHEDULES,
    faults: [
      [
        "a schedule keeps its next fire in another time zone",
        "if (timezone !== undefined && before.cron !== null) {",
        "if (false) {",
      ],
    ],
  },
  {
    file: "daemon/features/jobs/fires/dispatch.ts",
    tests: ["tests/daemon/features/jobs/fires", ...JOBS],
    faults: [
      ["a dispatch may take for ever", "lease_until: now + LEASE_MS,", "lease_until: null,"],
      [
        "a full queue ends the job",
        'const TEMPORARY_REFUSALS: readonly ProblemCode[] = ["queue_full", "rate_limited"];',
        "const TEMPORARY_REFUSALS: readonly ProblemCode[] = [];",
      ],
    ],
  },
  {
    file: "daemon/features/jobs/fires/fires.ts",
    tests: ["tests/daemon/features/jobs/fires", ...JOBS, "tests/crash/jobs_test.ts"],
    faults: [
      [
        "a job starts again while its last executor ends",
        'if (attempts.ofJob(db, job.job_id, 1)[0]?.release === "due") return waitForRelease();',
        "",
      ],
      [
        "a dispatch that a restart broke off is not repeated",
        'if (job?.state === "dispatching") this.#dispatch.requeue(job, attempt, DAEMON_RESTART);',
        "void job;",
      ],
      [
        "more agents run for jobs than allowed",
        "if (attempts.ownExecutors(db) >= EXECUTORS_MAX) {",
        "if (false) {",
      ],
      [
        "a job does not wait for an executor that is offline",
        'if (!isOnline(peer)) return this.#dispatch.postpone(job, "executor_offline", null);',
        "",
      ],
    ],
  },
  {
    file: "daemon/features/messages/ledger/retention.ts",
    tests: ["tests/daemon/features/messages/ledger", "tests/daemon/features/messages"],
    faults: [
      ["an open ask is deleted", " and ask_state is not 'open'", ""],
      ["an undelivered message is deleted", "state <> 'queued' and under_way", "under_way"],
      [
        "a message is deleted although it was just answered",
        "coalesce(closed_at, 0), coalesce(settled_at, 0)",
        "coalesce(settled_at, 0)",
      ],
      [
        "retention never gets past the first messages",
        "this.#cursor = reachedRecent ? 0 : last.seq;",
        "this.#cursor = 0;",
      ],
    ],
  },
  {
    file: "daemon/features/inbox/replies.ts",
    tests: INBOX,
    faults: [
      [
        "a second answer does not become an ask of its own",
        'if (item.kind === "ask" && ask?.state === "open") {',
        'if (item.kind === "ask" && ask) {',
      ],
      [
        "a program answers the human's question",
        "questions.mustBeHuman(correlation_id, () => by.proven_human);",
        "",
      ],
      [
        "an option for a question that is over is only read",
        "if (over && option_id) throw alreadyClosed(over);",
        "",
      ],
      [
        "a late decision becomes a new ask without a word",
        "if (over && asksForDecision(item.question) && !as_new_ask) throw alreadyClosed(over);",
        "",
      ],
    ],
  },
  {
    file: "daemon/features/inbox/inbox.ts",
    tests: INBOX,
    faults: [
      ["a later reader takes an item over", "if (item.read) return;", ""],
      [
        "an answered item stays open on the other surfaces",
        "if (answered) rows.markReplied(tx, item_id, clock.now());",
        "",
      ],
      [
        "a permission that nobody waits for is unread",
        "if (answered || asksForDecision(question)) {",
        "if (answered) {",
      ],
      [
        "a surface is not told that a question is over",
        "this.#deps.surfaces.showEnd(item);",
        "",
      ],
    ],
  },
  {
    file: "daemon/features/agents/question_evidence.ts",
    tests: EVIDENCE,
    faults: [
      [
        "a question ends between two dialogs of its session",
        "Math.abs(now - at) >= settle_ms",
        "Math.abs(now - at) >= 0",
      ],
      [
        "a question ends although its dialog is open",
        'if (later.some(({ finding }) => finding === "waits")) return undefined;',
        "",
      ],
    ],
  },
  {
    file: "daemon/features/asks/questions/approvals.ts",
    tests: APPROVALS,
    faults: [
      [
        "another process with the same session ends its questions",
        "if (known && peer.agent_pid !== agent_pid) continue;",
        "",
      ],
      [
        "another tool call of the session ends its questions",
        "ran.tool === tool && isSameJson(ran.input, input)",
        "ran.tool === tool",
      ],
    ],
  },
  {
    file: "daemon/features/agents/hooks/claude_format.ts",
    tests: APPROVALS,
    faults: [
      [
        "a tool that asks the person is offered as allow or deny",
        "...(!ASKING_TOOLS.has(tool) && { permission: { tool, input } }),",
        "permission: { tool, input },",
      ],
    ],
  },
  {
    file: "daemon/features/asks/questions/blocking_waits.ts",
    tests: APPROVALS,
    faults: [
      [
        "a restart records a denial for what the dialog still asks",
        "undecided && rows.isAtTerminal(db, correlation_id)",
        "false",
      ],
    ],
  },
  {
    file: "surfaces/chat/handler.ts",
    tests: ["tests/surfaces/telegram/ended_items_test.ts"],
    faults: [
      [
        "the buttons of a question stay after a decision elsewhere",
        "if (this.#tapped.delete(item_id) || !question || !outcome) return;",
        "return;",
      ],
    ],
  },
  {
    file: "daemon/features/proofs/proofs.ts",
    tests: [...PROOFS, ELSEWHERE],
    faults: [
      [
        "an answer that another machine did not check is verified",
        "const results = [...known, ...undecided({ checks: missing, claims: [] }, reason)];",
        "const results = known;",
      ],
      [
        "claims are verified for a machine that cannot read what was found",
        "if (!known && this.#deps.ports.isFromElsewhere(correlation_id)) {",
        "if (false) {",
      ],
      [
        "a second answer replaces the one that is being checked",
        'if (known?.state === "proving") throw new Problem("answer_in_proof", { correlation_id });',
        "",
      ],
      [
        "a held answer is lost if its author ends during the checks",
        'if (proof?.state === "proving") return true;',
        "",
      ],
      [
        "a refuted answer goes back again and again",
        "const isFirst = proof.answers === 1;",
        "const isFirst = true;",
      ],
      [
        "an answer without any finding counts as verified",
        'outcomes.size > 0 && !outcomes.has("unknown")',
        '!outcomes.has("unknown")',
      ],
      [
        "the checks of a cancelled ask go on",
        "this.#running.get(correlation_id)?.abort()",
        "this.#running.get(correlation_id)",
      ],
      [
        "checks that a restart cut off do not run again",
        "for (const id of this.#records.proving(RUNNING_MAX * 2)) this.#start(id);",
        "",
      ],
      [
        "a request through the relay starts checks",
        'if (via === "relay" && !this.#deps.relay_admin)',
        "if (false)",
      ],
    ],
  },
  {
    file: "daemon/features/proofs/verification.ts",
    tests: PROOFS,
    faults: [
      [
        "a check that could not run refutes the answer",
        "if (reason !== null) return notRun(reason);",
        'if (exit === null) return notRun(reason ?? "");',
      ],
      [
        "secrets in an output reach the asker",
        "maskSecrets(cleanText(output), this.#deps.secrets).text",
        "cleanText(output)",
      ],
    ],
  },
  {
    file: "daemon/features/jobs/check_runner.ts",
    tests: ["tests/daemon/features/jobs/check_runner_test.ts"],
    faults: [
      ["a sandbox that fails itself refutes", "if (sandbox === undefined ||", "if (true ||"],
      ["a failed check in a sandbox has no result", "|| !isOwnFailure(sandbox, output)", ""],
      ["a check that was killed refutes", "if (ENDED.has(exit))", "if (false)"],
    ],
  },
  {
    file: "daemon/host/program_limits.ts",
    tests: ["tests/daemon/host/program_limits_test.ts"],
    faults: [
      ["the memory of a check has no limit", "if (bytes > memory_bytes_max)", "if (false)"],
      [
        "the number of its processes has no limit",
        "if (pids.length > processes_max)",
        "if (false)",
      ],
      ["its writes to disks have no limit", "if (written > written_bytes_max)", "if (false)"],
      ["the disk space of its folder has no limit", "if (bytes > bytes_max) return true;", ""],
    ],
  },
  {
    file: "daemon/features/proofs/claims.ts",
    tests: CLAIMS,
    faults: [
      [
        "a branch of hex digits passes as a commit",
        "if (!found?.startsWith(commit))",
        "if (!found)",
      ],
      [
        "a redirect leads away from this machine",
        "if (!isLoopbackAddress(url)) return",
        "if (false) return",
      ],
      [
        "a link leads a claim out of the folder",
        "realPath(full) === full ? statOf(full) : undefined",
        "statOf(realPath(full) ?? full)",
      ],
    ],
  },
  {
    file: "daemon/features/messages/framing.ts",
    tests: PROOFS.slice(1),
    faults: [
      [
        "an output can close the tag of its message",
        "outcome })}>${escapeMarkup(text)}</finding>`;",
        "outcome })}>${text}</finding>`;",
      ],
    ],
  },
  {
    file: "daemon/features/reviews/queue.ts",
    tests: REVIEWS,
    faults: [
      [
        "changes of an agent at work are ready",
        'return isWorking ? "working" : "ready";',
        'return "ready";',
      ],
      [
        "an accepted review stays accepted after a change",
        "digest !== null && digest === decision_digest",
        "digest !== null",
      ],
      [
        "a review that was sent back is ready before its author has answered",
        'if (decision === "sent_back" && !isAnswered) return "sent_back";',
        "",
      ],
    ],
  },
  {
    file: "daemon/features/reviews/reviews.ts",
    tests: REVIEWS,
    faults: [
      [
        "a diff is accepted that the person has not seen",
        "digest !== undefined && !summary?.digest?.startsWith(digest)",
        "false",
      ],
      [
        "an agent decides about reviews",
        'if (!reader.isHuman) throw new Problem("human_not_proven", {});',
        "",
      ],
      [
        "an agent reads the reviews of others",
        "filter(({ author }) => author.peer_id === peer_id)",
        "filter(() => true)",
      ],
    ],
  },
  {
    file: "daemon/features/reviews/summaries.ts",
    tests: REVIEWS,
    faults: [
      [
        "lists are not loaded again after reads without any change",
        "if (this.#isShown && this.reading === 0) this.#publishRead();",
        "",
      ],
    ],
  },
  {
    file: "daemon/app/effects.ts",
    tests: REVIEWS,
    faults: [
      [
        "the folder of a new peer is read only when somebody looks",
        "reviews.peerSeen(peer_id);",
        "",
      ],
    ],
  },
  {
    file: "daemon/features/reviews/folders.ts",
    tests: REVIEWS,
    faults: [
      [
        "a job that waits for the end of its peer's turn counts as begun",
        'const NOT_BEGUN = ["queued", "dispatching"] as const;',
        'const NOT_BEGUN = ["queued"] as const;',
      ],
    ],
  },
  {
    file: "daemon/features/reviews/comments.ts",
    tests: REVIEWS,
    faults: [
      [
        "a comment is sent about a line that the person has not seen",
        "if (seen !== undefined && seen !== line_text) {",
        "if (false) {",
      ],
    ],
  },
  {
    file: "daemon/features/reviews/digest.ts",
    tests: REVIEWS,
    faults: [
      [
        "a change of the content of a file keeps the digest",
        "return { mode, id: blobId(bytes, hashing.algorithm) };",
        'return { mode, id: "" };',
      ],
      [
        "the digest of an incomplete list is exact",
        "if (files_total > files.length || left_out.length > 0) {",
        "if (false) {",
      ],
    ],
  },
];
