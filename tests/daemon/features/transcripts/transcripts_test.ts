/** Access to transcripts, and the entries that each reader gets. */

import assert from "node:assert/strict";
import { claudeSessionFiles } from "../../../../daemon/features/agents/claude_code/session_files.ts";
import { ENTRIES_MAX, getUsage, listUsage, readTranscript } from "protocol/transcripts.ts";
import { FULL_CHARS_MAX } from "../../../../daemon/features/transcripts/transcripts.ts";
import { addPeer, reportSessions } from "../../../support/daemon/peer_clients.ts";
import { readRecording, SessionsFolder } from "../../../support/sessions/recorded_sessions.ts";
import { FakeSockets, world } from "../../../support/world.ts";

const ID = "11111111-2222-4333-8444-555555555555";
const RECORDED = readRecording("claude_code.jsonl");
const TERMINAL = { "x-mesh-terminal": "77" };
const PATH = "/peers/api/transcript";

const line = (json: unknown) => `${JSON.stringify(json)}\n`;
const prompt = (content: string) => line({ type: "user", message: { content } });
const modelText = (text: string) =>
  line({ type: "assistant", message: { content: [{ type: "text", text }] } });

/** The peers api, of circle main with a transcript, web of circle main and far of another. */
async function transcriptWorld(
  { text = RECORDED, human = true, settings = {} }: {
    text?: string;
    human?: boolean;
    settings?: Readonly<Record<string, string>>;
  } = {},
) {
  const folder = new SessionsFolder();
  folder.write(`projects/-home-sam-api/${ID}.jsonl`, text);
  const sockets = new FakeSockets();
  sockets.holders = human ? [77] : [];
  const w = world({
    settings: { "human.name": "sam", ...settings },
    sessionFiles: { "claude-code": claudeSessionFiles([folder.path]) },
    at_terminal: human,
    sockets,
  });
  const backend = "claude-code";
  for (const pid of [41, 42]) w.processes.start(pid);
  await addPeer(w, "api", { backend, runtime_session_id: ID, circle: "main" });
  await addPeer(w, "web", { backend, circle: "main", agent_pid: 41 });
  await addPeer(w, "far", { backend, circle: "other", agent_pid: 42 });
  reportSessions(w);
  return {
    w,
    sockets,
    folder,
    async get(path: string, headers: Record<string, string> = TERMINAL) {
      const response = await w.fetch(path, { headers });
      return { status: response.status, ...await response.json() };
    },
    async [Symbol.asyncDispose]() {
      await w[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

type Entries = readonly Readonly<Record<string, unknown>>[];
const textsOf = ({ entries }: { entries: Entries }) => entries.map(({ text }) => text);

Deno.test("a person reads the last entries of a peer's session, oldest first [4.transcript.read]", async () => {
  await using at = await transcriptWorld();
  const page = await at.get(`${PATH}?last=3`);
  assert.deepEqual(
    page.entries.map(({ kind, tool, text }: Record<string, unknown>) => [
      ...[kind, tool, text],
    ]),
    [
      ["tool_result", null, "slept"],
      ["prompt", null, "This came while you worked. @@SAY Noted."],
      ["text", null, "Noted."],
    ],
  );
  assert.equal(page.session_id, ID);
  assert.equal(page.entries[2].at, "2026-11-26T13:07:53.377Z");
  const earlier = await at.get(`${PATH}?last=${ENTRIES_MAX}&before=${page.before}`);
  assert.deepEqual([earlier.entries.length, earlier.before], [6, null]);
  const later = await at.get(`${PATH}?after=${page.entries[1].position}`);
  assert.deepEqual(textsOf(later), ["Noted."]);
});

Deno.test("the setting and the caller's proof decide who may read [4.transcript.readers]", async () => {
  const agent = { human: false };
  const cases = [
    // setting, who asks, from_peer, the processes that hold its socket, the refusal
    ["human", {}, undefined, [77], undefined],
    ["human", agent, "web", [41], "human_not_proven"],
    ["human", agent, undefined, [], "human_not_proven"],
    ["peers", {}, undefined, [77], undefined],
    ["peers", agent, "web", [41], undefined],
    ["peers", agent, "far", [42], "not_your_transcript"],
    ["peers", agent, "web", [42], "not_your_transcript"],
    ["peers", agent, undefined, [41], "not_your_transcript"],
    ["peers", agent, "nobody", [41], "not_your_transcript"],
    ["off", {}, undefined, [77], "transcripts_off"],
    ["off", agent, "web", [41], "transcripts_off"],
  ] as const;
  for (const [readers, who, from_peer, holders, refusal] of cases) {
    await using at = await transcriptWorld({
      ...who,
      settings: { transcripts: readers },
    });
    at.sockets.holders = holders;
    const query = from_peer === undefined ? "" : `?from_peer=${from_peer}`;
    const answer = await at.get(`${PATH}${query}`);
    assert.equal(answer.error, refusal, `${readers} ${from_peer} ${holders}`);
    if (refusal === undefined) assert.equal(answer.entries.length, 9);
    const usage = await at.get(`/peers/api/usage${query}`);
    assert.equal((usage.transcript_refusal ?? usage).error, refusal, "as for its usage");
  }
});

Deno.test("transcripts pass neither the relay nor to another machine [4.transcript.remote]", () => {
  assert.equal(readTranscript.tunnel, "never");
  // Numbers alone may pass.
  assert.deepEqual([getUsage.tunnel, listUsage.tunnel], ["open", "open"]);
});

Deno.test("secrets are masked, and a search does not find them [4.transcript.masked]", async () => {
  const token = ["ghp_", "0123456789abcdefghijABCDEFGHIJ"].join("");
  const text = prompt(`use ${token}`) + modelText("the door code is open-sesame-42") +
    modelText("done");
  const settings = { "spawn.env": "{DOOR_KEY: open-sesame-42}" };
  await using at = await transcriptWorld({ text, settings });
  const page = await at.get(PATH);
  assert.deepEqual(textsOf(page), ["use [masked]", "the door code is [masked]", "done"]);
  assert.deepEqual(page.entries.map(({ masked }: { masked: number }) => masked), [1, 1, 0]);
  const lengths = page.entries.map(({ text, chars }: { text: string; chars: number }) => [
    ...[text.length, chars],
  ]);
  assert(lengths.every(([shown, chars]: number[]) => shown === chars), "nothing was shortened");
  assert.deepEqual(textsOf(await at.get(`${PATH}?grep=DOOR`)), [
    "the door code is [masked]",
  ]);
  for (const part of ["ghp_", "sesame"]) {
    assert.deepEqual(textsOf(await at.get(`${PATH}?grep=${part}`)), []);
  }
});

Deno.test("long texts are shortened after masking, and say how long they are [4.transcript.bounds]", async () => {
  const key = `-----BEGIN PRIVATE KEY-----\n${"x".repeat(3_980)}`;
  const text = prompt(`${"y".repeat(10)}${key}`) + modelText("z".repeat(50_000));
  await using at = await transcriptWorld({ text });
  const [first, second] = (await at.get(PATH)).entries;
  assert.equal(first.text, `${"y".repeat(10)}[masked]`);
  assert.deepEqual([second.text.length, second.chars], [4_000, 50_000]);
  const [, full] = (await at.get(`${PATH}?full=true`)).entries;
  assert.equal(full.text.length, FULL_CHARS_MAX);
  for (const last of [0, ENTRIES_MAX + 1]) {
    assert.equal((await at.get(`${PATH}?last=${last}`)).error, "invalid_request");
  }
});

Deno.test("control characters of an agent's terminal do not reach a reader", async () => {
  await using at = await transcriptWorld({ text: modelText("\u001b[2Jgone\u202e") });
  assert.deepEqual(textsOf(await at.get(PATH)), ["[2Jgone"]);
});

Deno.test("a peer without a readable session is refused with the reason [4.transcript.missing]", async () => {
  await using at = await transcriptWorld();
  await addPeer(at.w, "shell", { backend: "generic" });
  await addPeer(at.w, "new", { backend: "claude-code" });
  await addPeer(at.w, "lost", { backend: "claude-code", runtime_session_id: "22222222" });
  const reasons = { shell: /kind of program/, new: /not reported/, lost: /no such session/ };
  for (const [name, reason] of Object.entries(reasons)) {
    const answer = await at.get(`/peers/${name}/transcript`);
    assert.equal(answer.error, "no_transcript");
    assert.match(answer.detail, reason);
    const { usage, reason: shown } = await at.get(`/peers/${name}/usage`);
    assert.equal(usage, null);
    assert.match(shown, reason);
  }
  assert.equal((await at.get("/peers/nobody/transcript")).error, "unknown_peer");
});

Deno.test("tokens and context are counted where the agent records them [4.transcript.usage]", async () => {
  await using at = await transcriptWorld();
  const api = await at.get("/peers/api/usage");
  assert.deepEqual(api.usage, {
    input_tokens: 400,
    output_tokens: 80,
    cached_tokens: 0,
    context_tokens: 100,
    context_limit: null,
    model: "claude-opus-5-5",
  });
  assert.equal(api.reason, null);
  assert.equal(api.transcript_refusal, null);
  const { usage } = await at.get("/usage");
  assert.deepEqual(usage.map(({ name }: { name: string }) => name).sort(), ["api", "far", "web"]);
  assert.equal(usage.find(({ name }: { name: string }) => name === "api").session_id, ID);
  await using off = await transcriptWorld({ settings: { transcripts: "off" } });
  const unread = await off.get("/peers/api/usage");
  assert.deepEqual([unread.usage, unread.reason], [null, "Reading transcripts is off"]);
  assert.equal(unread.transcript_refusal.error, "transcripts_off");
});

Deno.test("tokens are counted again once the session's file has changed", async () => {
  await using at = await transcriptWorld();
  await at.get("/peers/api/usage");
  const usage = { input_tokens: 7, output_tokens: 1 };
  const more = line({ type: "assistant", message: { id: "m", model: "later", usage } });
  const file = at.folder.write(`projects/-home-sam-api/${ID}.jsonl`, RECORDED + more);
  Deno.utimeSync(file, 1, 1);
  assert.deepEqual((await at.get("/peers/api/usage")).usage.model, "later");
});
