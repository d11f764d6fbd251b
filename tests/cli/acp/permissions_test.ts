/** Permission requests of an agent: what the human is asked, and what the agent is told. */

import assert from "node:assert/strict";
import { type Call } from "kit/http/client.ts";
import { PENDING_MAX, Permissions } from "../../../cli/acp/permissions.ts";
import { askBlocking } from "protocol/asks/questions.ts";

const OPTIONS = [
  { optionId: "once", name: "Yes", kind: "allow_once" },
  { optionId: "server", name: "Always for\nthis server", kind: "allow_always" },
  { optionId: "no", name: "No", kind: "reject_once" },
  { optionId: "never", name: "Never", kind: "reject_always" },
];
const CALL = { toolCallId: "1", title: "Run ls", rawInput: { command: "ls" } };
const ANSWERED = { outcome: "answered", option_id: "allow" };

/** Permissions whose daemon gives this verdict. */
function fixture(verdict: () => unknown) {
  const questions: unknown[] = [], states: boolean[] = [], reports: string[] = [];
  const call = ((_: unknown, { body }: { body: unknown }) => {
    questions.push(askBlocking.body.parse(body));
    return Promise.try(verdict);
  }) as unknown as Call;
  const permissions = new Permissions({
    call,
    peer: { peer_id: "peer-1", name: "api", session_id: "s1" },
    waiting: (isWaiting) => states.push(isWaiting),
    report: (text) => reports.push(text),
  });
  const permit = (options = OPTIONS, call: object = CALL, signal = new AbortController().signal) =>
    permissions.permit({ call: { toolCallId: "1", ...call }, options }, signal);
  return { permit, questions, states, reports };
}

const selection = (optionId: string) => ({ outcome: { outcome: "selected", optionId } });

Deno.test("the human is asked with the tool's input, and allows it once", async () => {
  const { permit, questions, states } = fixture(() => ANSWERED);
  assert.deepEqual(await permit(), selection("once"));
  const [question] = questions as Record<string, unknown>[];
  assert.deepEqual([question?.["prompt"], question?.["scope"], question?.["from_peer"]], [
    '@api wants to use Run ls: {"command":"ls"}',
    "tool_permission",
    "peer-1",
  ]);
  assert.deepEqual(question?.["options"], [
    { id: "allow", title: "Allow" },
    { id: "deny", title: "Deny" },
    { id: "always-1", title: "Always: Always for this server" },
  ]);
  assert.deepEqual(states, [true, false]);
});

Deno.test("the agent's own permission for longer is one of the options", async () => {
  const { permit } = fixture(() => ({ outcome: "answered", option_id: "always-1" }));
  assert.deepEqual(await permit(), selection("server"));
});

Deno.test("a denial, no answer in time and an unknown option all reject the tool once", async () => {
  for (
    const verdict of [
      { outcome: "answered", option_id: "deny" },
      { outcome: "denied", option_id: null },
      { outcome: "expired", option_id: "allow" },
      { outcome: "answered", option_id: "root" },
    ]
  ) {
    assert.deepEqual(await fixture(() => verdict).permit(), selection("no"), verdict.outcome);
  }
});

Deno.test("a request without a one-time rejection is cancelled", async () => {
  const { permit } = fixture(() => ({ outcome: "denied", option_id: null }));
  const without = OPTIONS.filter(({ kind }) => kind !== "reject_once");
  assert.deepEqual(await permit(without), { outcome: { outcome: "cancelled" } });
});

Deno.test("nobody is asked when nothing can be allowed", async () => {
  const { permit, questions } = fixture(() => ANSWERED);
  assert.deepEqual(await permit(OPTIONS.slice(2)), selection("no"));
  assert.deepEqual(questions, []);
});

Deno.test("without a daemon the tool is rejected, and the reason is reported", async () => {
  const { permit, reports, states } = fixture(() => {
    throw new Error("No daemon is running");
  });
  assert.deepEqual(await permit(), selection("no"));
  assert.deepEqual(reports, [
    '"Run ls" is rejected: the human cannot be asked: No daemon is running',
  ]);
  assert.deepEqual(states, [true, false]);
});

Deno.test("a question that ends with its turn is reported nowhere", async () => {
  const { permit, reports } = fixture(() => {
    throw new Error("Aborted");
  });
  await permit(OPTIONS, CALL, AbortSignal.abort());
  assert.deepEqual(reports, []);
});

Deno.test("20 questions may be open at once, and a further request is rejected", async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const { permit, questions } = fixture(() => promise);
  const open = Array.from({ length: PENDING_MAX }, () => permit());
  assert.deepEqual(await permit(), selection("no"));
  assert.equal(questions.length, PENDING_MAX);
  resolve(ANSWERED);
  assert((await Promise.all(open)).every(({ outcome }) => outcome.outcome === "selected"));
});

Deno.test("a long input is cut in the middle, and the question says so", async () => {
  const { permit, questions } = fixture(() => ANSWERED);
  await permit(OPTIONS, { title: "Write", rawInput: `begin${"😀".repeat(40_000)}end` });
  const [{ prompt, metadata }] = questions as [
    { prompt: string; metadata: Record<string, string> },
  ];
  assert(prompt.length < 1_200 && prompt.includes("more)…") && prompt.endsWith('end"'), prompt);
  assert.equal(metadata["tool_input_is_cut"], true);
  assert.match(metadata["tool_input"] ?? "", /^"begin.*end"$/);
});
