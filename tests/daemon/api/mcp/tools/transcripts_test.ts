/** Agents read the transcripts of their own circle with a tool. */

import assert from "node:assert/strict";
import { codexSessionFiles } from "../../../../../daemon/features/agents/codex/session_files.ts";
import { registerPeer } from "protocol/peers/contract.ts";
import { agents } from "../../../../support/daemon/mcp_agents.ts";
import { PROTOCOL_VERSIONS } from "../../../../support/daemon/mcp_server.ts";
import { readRecording, SessionsFolder } from "../../../../support/sessions/recorded_sessions.ts";
import { world } from "../../../../support/world.ts";

const [, protocolVersion = "2026-07-28" as const] = PROTOCOL_VERSIONS;
const ID = "01a21805-df95-7963-af5c-f73d6119bf61";

function readingWorld(folder: SessionsFolder, readers: string) {
  const name = `rollout-2026-11-26T13-22-47-${ID}.jsonl`;
  folder.write(`sessions/2026/11/26/${name}`, readRecording("codex.jsonl"));
  return world({
    settings: { transcripts: readers },
    sessionFiles: { codex: codexSessionFiles(folder.path) },
  });
}

Deno.test("an agent reads another's transcript as data, if the human has set so [4.transcript.tool]", async () => {
  using folder = new SessionsFolder();
  await using w = readingWorld(folder, "peers");
  await using at = await agents(w, protocolVersion);
  const shared = { path: "/work", backend: "codex" as const };
  await w.call(registerPeer, { body: { ...shared, name: "writer", runtime_session_id: ID } });
  await w.call(registerPeer, { body: { ...shared, name: "stranger", circle: "other" } });
  const { text, data, problemResponse } = await at.api.call("read_transcript", {
    peer: "writer",
    last: 3,
  });
  assert.equal(problemResponse, false, text);
  assert.match(text, /^<peer-message type="transcript" from="@writer">/);
  assert.match(text, /said: The notes say hello\.\n\S+ prompt: And again\n/);
  assert.match(text, /<\/peer-message>\nEarlier entries: before=\d+$/);
  const [, prompt] = data["entries"] as { text: string; at: string }[];
  const quoted = '<peer-message type="transcript" kind="prompt" from="@writer">And again\n';
  assert(prompt?.text.startsWith(quoted), prompt?.text);
  assert.equal(prompt?.at, "2026-11-26T13:22:50.005Z");
  const before = data["before"];
  const earlier = await at.api.call("read_transcript", { peer: "writer", before });
  assert.match(earlier.text, /called exec_command: \{"cmd":"echo hi; cat notes.txt"\}/);
  const other = await at.api.call("read_transcript", { peer: "stranger" });
  assert.match(other.text, /^not_your_transcript: .*it is in the circle other/);
  const unknown = await at.anonymous.call("read_transcript", { peer: "writer" });
  assert.match(unknown.text, /^unknown_caller: /);
});

Deno.test("by default no agent reads a transcript, not even its own [4.transcript.tool]", async () => {
  using folder = new SessionsFolder();
  await using w = readingWorld(folder, "human");
  await using at = await agents(w, protocolVersion);
  for (const peer of ["api", "web"]) {
    const { text } = await at.api.call("read_transcript", { peer });
    assert.match(text, /^human_not_proven: /);
  }
});
