/** Messages to the human of a machine whose human has the inbox on another one. */

import assert from "node:assert/strict";
import { claudeCodeHooks } from "../../../../daemon/features/agents/hooks/claude_format.ts";
import { getAsk, openAsk } from "protocol/asks/contract.ts";
import { queryPeer } from "protocol/asks/questions.ts";
import { listInbox, replyInboxItem } from "protocol/inbox.ts";
import { keyedIdCodec } from "../../../../daemon/features/messages/id_codec.ts";
import { getTrace } from "protocol/messages/contract.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { askBlocking, DECISION } from "../../../support/daemon/blocking_questions.ts";
import { contradictions } from "../../../support/machines/asking.ts";
import {
  laptopAndBuildbox,
  type NetworkedWorld,
} from "../../../support/machines/memory_network.ts";

const AT_TERMINAL = { "x-mesh-terminal": "7" };
const HUMAN = { "human.name": "sam" };

interface HomeOptions {
  /** True if laptop accepts messages to its human from buildbox. */
  readonly takes?: boolean;
  /** True if buildbox lets laptop speak as its human. */
  readonly trusts?: boolean;
  readonly human_here?: boolean;
  /** More settings of buildbox, and of laptop. */
  readonly settings_here?: Readonly<Record<string, string>>;
  readonly settings_there?: Readonly<Record<string, string>>;
}

/** The human's home is laptop; `api` works on buildbox. A person is at the terminal of both. */
function withHome(
  { takes = true, trusts = true, human_here = true, settings_here, settings_there }: HomeOptions =
    {},
) {
  return laptopAndBuildbox({
    laptop: {
      at_terminal: true,
      settings: {
        ...HUMAN,
        "mesh.bus.allow_admin": takes ? '["buildbox"]' : "[]",
        ...settings_there,
      },
    },
    buildbox: {
      at_terminal: true,
      // No id of an ask is one of the other machine's, too.
      idCodec: keyedIdCodec,
      settings: {
        ...(human_here && HUMAN),
        "mesh.bus.human_home": "laptop",
        "mesh.bus.allow_admin": trusts ? '["laptop"]' : "[]",
        ...settings_here,
      },
    },
  });
}

type Home = Awaited<ReturnType<typeof withHome>>;

/** `api` asks the human; returns the id of the ask on buildbox. */
async function askHuman({ buildbox, pass }: Home, to_peer = "sam"): Promise<string> {
  const body = { from_peer: "api", to_peer, text: "Deploy?" };
  const { correlation_id } = await buildbox.call(openAsk, { body });
  await pass();
  return correlation_id ?? "";
}

async function inboxOf({ call }: NetworkedWorld) {
  return (await call(listInbox, { query: { here: "true" } })).items;
}

/** Answers the only item of the inbox, on a machine. */
async function reply(at: NetworkedWorld, fields: object, headers = {}): Promise<string> {
  const { items } = await at.call(listInbox, { query: {} });
  assert.equal(items.length, 1);
  const params = { id: items[0]?.item_id ?? "" };
  const { action } = await at.call(replyInboxItem, {
    params,
    body: { text: "", ...fields },
    headers,
  });
  return action;
}

async function closureOf({ buildbox }: Home, id: string) {
  const { close_reason, reply, reply_voice } = await buildbox.call(getAsk, { params: { id } });
  return { close_reason, reply, reply_voice };
}

for (const named of ["sam", "dashboard", "sam@laptop"]) {
  Deno.test(`An ask to ${named} comes into the inbox of the human's home, and the answer back`, async () => {
    await using two = await withHome();
    const id = await askHuman(two, named);
    const [item] = await inboxOf(two.laptop);
    assert.deepEqual([item?.from, item?.text], ["api@buildbox", "Deploy?"]);
    assert.deepEqual(await inboxOf(two.buildbox), []);
    assert.equal(await reply(two.laptop, { text: "Yes" }, AT_TERMINAL), "acked");
    await two.pass();
    assert.deepEqual(await closureOf(two, id), {
      close_reason: "ack_with_msg",
      reply: "Yes",
      reply_voice: "human",
    });
    assert.deepEqual(two.api.of("ack").map(({ text }) => text), ["Yes"]);
    assert.deepEqual(await contradictions(two), []);
  });
}

Deno.test("An ask at home is answered from the machine of the asker, too, as the human", async () => {
  await using two = await withHome();
  const id = await askHuman(two);
  assert.equal(await reply(two.buildbox, { text: "Yes" }, AT_TERMINAL), "acked");
  await two.pass();
  assert.deepEqual(await closureOf(two, id), {
    close_reason: "ack_with_msg",
    reply: "Yes",
    reply_voice: "human",
  });
  assert.equal((await inboxOf(two.laptop))[0]?.replied, true);
  assert.deepEqual(await contradictions(two), []);
});

for (
  const [what, trusts, headers] of [
    ["from a home that mesh.bus.allow_admin does not name", false, AT_TERMINAL],
    ["that nobody proved to be the human's", true, {}],
  ] as const
) {
  Deno.test(`An answer ${what} is unverified`, async () => {
    await using two = await withHome({ trusts });
    const id = await askHuman(two);
    await reply(two.laptop, { text: "Yes", surface: "dashboard" }, headers);
    await two.pass();
    assert.equal((await closureOf(two, id)).reply_voice, "unverified");
    assert.equal(two.api.of("ack")[0]?.voice, "unverified");
  });
}

Deno.test("A home that does not know the machine refuses the message, which comes into the inbox of that machine", async () => {
  await using two = await withHome({ takes: false });
  const id = await askHuman(two);
  await two.pass();
  assert.deepEqual(await inboxOf(two.laptop), []);
  const [item] = await inboxOf(two.buildbox);
  assert.deepEqual([item?.from, item?.text, item?.correlation_id], ["api", "Deploy?", id]);
  const { stages } = await two.buildbox.call(getTrace, { params: { trace_id: id } });
  const note = stages.find(({ stage }) => stage === "kept_here");
  assert.match(note?.detail ?? "", /as sam@laptop refused it: unknown_peer$/);
  const params = { id: item?.item_id ?? "" };
  const body = { text: "Yes" };
  await two.buildbox.call(replyInboxItem, { params, body, headers: AT_TERMINAL });
  await two.pass();
  assert.equal((await closureOf(two, id)).reply_voice, "human");
  assert.deepEqual(two.api.of("ack").map(({ text }) => text), ["Yes"]);
  assert.equal(two.laptop.logged.length, 1, "laptop got more than the ask that it refused");
  assert.deepEqual(await contradictions(two), []);
});

Deno.test("Without a human of its own, a machine ends a message that the home refuses, and says why", async () => {
  await using two = await withHome({ takes: false, human_here: false });
  const id = await askHuman(two, "sam@laptop");
  await two.pass();
  assert.deepEqual(await closureOf(two, id), {
    close_reason: "send_failed",
    reply: "Not delivered: the other machine has no such peer, or does not share it",
    reply_voice: null,
  });
});

Deno.test("An ask that was cancelled before the home refused it comes into no inbox", async () => {
  await using two = await withHome({ takes: false });
  two.network.bus.setReachable(two.laptop.daemon_id, false);
  const id = await askHuman(two);
  await two.buildbox.post(`/asks/${id}/cancel`, { peer_id: "api" });
  two.network.bus.setReachable(two.laptop.daemon_id, true);
  await two.pass(3);
  assert.deepEqual(await inboxOf(two.buildbox), []);
  assert.deepEqual(await contradictions(two), []);
});

Deno.test("A note to the human goes home", async () => {
  await using two = await withHome();
  const body = { from_peer: "api", to_peer: "sam", text: "Deployed" };
  const { surfaces, to_peer_name } = await two.buildbox.call(notifyPeer, { body });
  assert.deepEqual([surfaces, to_peer_name], [undefined, "sam@laptop"]);
  await two.pass();
  const [item] = await inboxOf(two.laptop);
  assert.deepEqual([item?.kind, item?.text], ["notify", "Deployed"]);
});

Deno.test("Two machines that name each other as the home do not pass a message back and forth", async () => {
  await using two = await withHome({ settings_there: { "mesh.bus.human_home": "buildbox" } });
  assert.ok(two.laptop.daemon.directory.homeHuman());
  await askHuman(two);
  assert.deepEqual((await inboxOf(two.laptop)).map(({ text }) => text), ["Deploy?"]);
  assert.deepEqual(await inboxOf(two.buildbox), []);
});

Deno.test("An ask to the human at home stays open for as long as one to the human here", async () => {
  await using two = await withHome();
  const id = await askHuman(two);
  await two.network.clock.advance(48 * 3_600_000);
  await two.pass(3);
  assert.equal((await closureOf(two, id)).close_reason, null);
});

Deno.test("A blocking question goes home, and its verdict comes back", async () => {
  await using two = await withHome();
  const verdict = askBlocking(two.buildbox, { from_peer: "api" });
  await two.pass();
  assert.deepEqual(await inboxOf(two.buildbox), []);
  assert.equal(await reply(two.laptop, { option_id: "allow" }, AT_TERMINAL), "answered");
  await two.pass();
  const { outcome, option_id } = await verdict;
  assert.deepEqual([outcome, option_id], ["answered", "allow"]);
});

Deno.test("A question to the human with a text comes back as the result of a query", async () => {
  await using two = await withHome();
  const body = { from_peer: "api", to_peer: "sam", text: "Which port?", timeout_seconds: 30 };
  const result = two.buildbox.call(queryPeer, { body });
  await two.pass();
  await reply(two.laptop, { text: "8377" }, AT_TERMINAL);
  await two.pass();
  assert.equal((await result).text, "8377");
});

Deno.test("A tool is denied if its machine does not let the home speak as the human", async () => {
  await using two = await withHome({ trusts: false });
  const verdict = askBlocking(two.buildbox, { from_peer: "api" });
  await two.pass();
  await reply(two.laptop, { option_id: "allow" }, AT_TERMINAL);
  await two.pass();
  const { outcome, option_id, message } = await verdict;
  assert.deepEqual([outcome, option_id], ["denied", null]);
  assert.match(message, /^It is not proven that the human answered on laptop/);
});

Deno.test("Any other question takes the answer of a home that does not speak as the human", async () => {
  await using two = await withHome({ trusts: false });
  const verdict = askBlocking(two.buildbox, { from_peer: "api", ...DECISION });
  await two.pass();
  await reply(two.laptop, { option_id: "allow" });
  await two.pass();
  assert.equal((await verdict).outcome, "answered");
});

Deno.test("A question that nobody answers in time is denied, and closed at home, too", async () => {
  await using two = await withHome();
  const verdict = askBlocking(two.buildbox, { from_peer: "api", timeout_seconds: 5 });
  await two.pass(6);
  assert.equal((await verdict).outcome, "denied");
  const [item] = await inboxOf(two.laptop);
  const params = { id: item?.correlation_id ?? "" };
  assert.equal((await two.laptop.call(getAsk, { params })).close_reason, "evicted");
  assert.deepEqual(await contradictions(two), []);
});

Deno.test("An ask that only the home knows is refused with the way to answer it there", async () => {
  await using two = await withHome();
  await askHuman(two);
  const [item] = await inboxOf(two.laptop);
  const correlation_id = item?.correlation_id ?? "";
  const bodies = { ack: {}, decline: { reason: "No" }, answer: { text: "Yes" } };
  for (const [verb, body] of Object.entries(bodies)) {
    const response = await two.buildbox.post(`/${verb}`, { correlation_id, ...body });
    const { error, hint } = await response.json();
    assert.deepEqual([response.status, error], [404, "unknown_ask"]);
    assert.match(hint, /`mesh inbox reply`, or use `mesh --machine laptop …`/);
  }
  const here = await two.laptop.post("/ack", { correlation_id: "ask-00000000ffff" });
  assert.match((await here.json()).hint, /^list them with/);
});

Deno.test("An ask to the human at home restarts the count of hops, as one to the human here does", async () => {
  await using two = await withHome({ settings_here: { "daemon.limits.hops": "1" } });
  const reply_to = await askHuman(two);
  await two.buildbox.socket().connect({ display_name: "web", circle: "work" });
  const followUp = { from_peer: "api", to_peer: "web", text: "Ready?", reply_to };
  const { correlation_id } = await two.buildbox.call(openAsk, { body: followUp });
  const next = { ...followUp, reply_to: correlation_id };
  assert.equal((await two.buildbox.post("/ask", next)).status, 200);
});

Deno.test("A permission that is decided in the agent's terminal is over at the human's home, too", async () => {
  await using two = await laptopAndBuildbox({
    laptop: {
      at_terminal: true,
      settings: { ...HUMAN, "mesh.bus.allow_admin": '["buildbox"]' },
    },
    buildbox: {
      hooks: { "claude-code": claudeCodeHooks },
      settings: { "mesh.bus.human_home": "laptop", "approvals.gated_tools": "Bash" },
    },
  });
  const hook = (hook_event_name: string, more: object) =>
    two.buildbox.post("/hooks/claude-code", {
      session_id: "s-1",
      cwd: "/work/api",
      hook_event_name,
      ...more,
    });
  const asked = hook("PermissionRequest", { tool_name: "Bash", tool_input: { command: "ls" } });
  await two.pass(2);
  const [open] = await inboxOf(two.laptop);
  assert.deepEqual([open?.state, open?.read], ["open", false]);
  assert.ok(open?.expires_at);
  await hook("Stop", { stop_hook_active: false });
  await two.pass(2);
  assert.deepEqual(await (await asked).json(), {});
  const [over, ...others] = await inboxOf(two.laptop);
  assert.deepEqual([over?.outcome, over?.responder, over?.read], ["ended_there", "terminal", true]);
  assert.deepEqual(others, []);
  const late = await reply(two.laptop, { option_id: "allow" }, AT_TERMINAL).catch((error) => error);
  assert.partialDeepStrictEqual(late.problem, { error: "already_closed", outcome: "ended_there" });
});

Deno.test("A permission shows its act at the human's home, and is allowed from there", async () => {
  await using two = await laptopAndBuildbox({
    laptop: {
      at_terminal: true,
      settings: { ...HUMAN, "mesh.bus.allow_admin": '["buildbox"]' },
    },
    buildbox: {
      hooks: { "claude-code": claudeCodeHooks },
      settings: {
        "mesh.bus.human_home": "laptop",
        "mesh.bus.allow_admin": '["laptop"]',
        "approvals.gated_tools": "Bash",
      },
    },
  });
  const decide = async (command: string, option_id: string) => {
    const asked = two.buildbox.post("/hooks/claude-code", {
      session_id: "s-1",
      cwd: "/work/api",
      hook_event_name: "PermissionRequest",
      tool_name: "Bash",
      tool_input: { command },
    });
    await two.pass(2);
    const item = (await inboxOf(two.laptop)).find(({ state }) => state === "open");
    const { act } = item?.question ?? {};
    assert.deepEqual([act?.title, act?.command, act?.folder], [
      `Run: ${command}`,
      command,
      "/work/api",
    ]);
    const params = { id: item?.item_id ?? "" };
    const body = { text: "", option_id };
    await two.laptop.call(replyInboxItem, { params, body, headers: AT_TERMINAL });
    await two.pass(2);
    return (await (await asked).json()).hookSpecificOutput?.decision?.behavior;
  };
  assert.equal(await decide("git push", "allow"), "allow");
  assert.equal(await decide("rm -rf x", "deny"), "deny");
});
