/** The conversation and the files of a hand-over to a peer of another machine. */

import assert from "node:assert/strict";
import { addPeer, post, reportSessions } from "../../../support/daemon/peer_clients.ts";
import { laptopAndBuildbox } from "../../../support/machines/memory_network.ts";
import { sessionFilesOf } from "../../../support/sessions/fake_session_files.ts";
import { ENTRIES, fileText } from "../../../support/sessions/handoffs.ts";

Deno.test("no turns leave the machine with a hand-over to another one, and the manifest says so", async () => {
  const session = { session_id: "s-1", title: "x", folder: "/", updated_at: 0, entries: ENTRIES };
  const sessionFiles = { "claude-code": sessionFilesOf([session]) };
  await using at = await laptopAndBuildbox({ laptop: { sessionFiles } });
  const { laptop } = at;
  laptop.processes.start(50);
  const has = { backend: "claude-code", runtime_session_id: "s-1", agent_pid: 50 };
  await addPeer(laptop, "worker", { ...has, circle: "work" });
  reportSessions(laptop);
  const hand = (to_peer: string) => post(laptop, "/handoffs", { from_peer: "worker", to_peer });
  const here = await hand("web");
  assert.match(await fileText(laptop, here.attachment_id), /Fix the port/);
  const there = await hand("api@buildbox");
  assert.equal(there.manifest.counts.turns, 0, JSON.stringify(there));
  assert.equal(there.manifest.left_out[0].what, "all turns");
  assert.match(there.manifest.left_out[0].why, /on its own machine only/);
  assert.doesNotMatch(await fileText(laptop, there.attachment_id), /Fix the port/);
});
