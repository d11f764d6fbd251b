/** Subagents: children of the peer whose session started them. */

import assert from "node:assert/strict";
import { ENDED_MS_MAX } from "protocol/peers/subagents.ts";
import {
  addPeer,
  ask,
  connectPeer,
  eventData,
  get,
  post,
} from "../../../support/daemon/peer_clients.ts";
import { SESSION_PID, worldWithSession } from "../../../support/agents/subagents.ts";
import { FakeClock } from "../../../support/clock.ts";
import { countingIds } from "../../../support/ids.ts";
import { temporary } from "../../../support/programs/child.ts";
import { FakeProcesses, type World } from "../../../support/world.ts";

async function names(w: World, query = ""): Promise<string[]> {
  const { peers } = await get(w, `/peers${query}`);
  return peers.map(({ name }: { name: string }) => name);
}

Deno.test("a subagent that a session starts is its child, with its provenance", async () => {
  await using at = await worldWithSession();
  const { w, session } = at;
  await session.subagentStarts("a-1");
  const { name, circle, children, children_count } = await session.record();
  assert.equal(children_count, 1);
  const [child] = children;
  assert(child);
  const started_at = new Date(w.clock.now()).toISOString();
  const { peer_id, ...rest } = child;
  assert.deepEqual(rest, {
    name: `${name}.explore-1`,
    type: "explore",
    status: "busy",
    started_at,
    ended_at: null,
  });
  const record = await get(w, `/peers/${peer_id}`);
  const facts = ["source", "initiator", "parent_peer_id", "ephemeral", "addressable"];
  assert.deepEqual(
    facts.map((fact) => record[fact]),
    ["hook", "agent", session.peer_id, true, false],
  );
  assert.deepEqual(
    [record.circle, record.backend, record.turn_state, record.addressable_reason],
    [circle, "claude-code", "working", `a subagent of ${name}`],
  );
  assert.deepEqual([record.children, record.children_count], [[], 0]);
});

Deno.test("an ask to a subagent is refused, and names its parent", async () => {
  await using at = await worldWithSession();
  const { w, session } = at;
  await addPeer(w, "ada");
  await session.subagentStarts("a-1");
  const { name } = await session.record();
  const [child] = (await session.record()).children;
  for (const ended of [false, true]) {
    if (ended) await session.subagentStops("a-1");
    for (const [path, kind] of [["/ask", "ask"], ["/notify", "notify"]] as const) {
      const body = { from_peer: "ada", to_peer: child?.name, text: "Well?" };
      const refused = await post(w, path, body);
      assert.deepEqual(
        [refused.status, refused.error, refused.peer_id, refused.parent_peer_id],
        [409, "peer_not_addressable", child?.peer_id, session.peer_id],
        kind,
      );
      assert.equal(refused.hint, `it only sends; ask @${name}, which started it`);
    }
  }
});

Deno.test("a subagent's end is seen, and its timeline names the parent", async () => {
  await using at = await worldWithSession();
  const { w, session } = at;
  await session.subagentStarts("a-1");
  await w.tick(5);
  await session.subagentStops("a-1");
  const [child] = (await session.record()).children;
  assert.equal(child?.status, "offline");
  assert.equal(child?.ended_at, new Date(w.clock.now()).toISOString());
  const parent_peer_id = session.peer_id;
  const [registered] = eventData(w, "peer_registered").slice(-1);
  assert.deepEqual(
    [registered?.["peer_id"], registered?.["parent_peer_id"]],
    [child?.peer_id, parent_peer_id],
  );
  const [offline] = eventData(w, "peer_offline").slice(-1);
  assert.deepEqual(
    [offline?.["peer_id"], offline?.["parent_peer_id"], offline?.["reason"]],
    [child?.peer_id, parent_peer_id, "subagent_ended"],
  );
});

Deno.test("subagents of one type are numbered, also after the parent was renamed", async () => {
  await using at = await worldWithSession();
  const { w, session } = at;
  await post(w, `/peers/${session.peer_id}/name`, { name: "api" });
  for (const [id, type] of [["a", "Explore"], ["b", "Plan Mode!"], ["c", "Explore"]] as const) {
    await session.subagentStarts(id, type);
  }
  await session.subagentStarts("d", "");
  await session.subagentStarts("e", "x".repeat(500));
  assert.deepEqual((await session.children()).map((text) => text.split(" ")[0]), [
    `api.${"x".repeat(24)}-1`,
    "api.subagent-1",
    "api.explore-2",
    "api.plan-mode-1",
    "api.explore-1",
  ]);
  await post(w, `/peers/${session.peer_id}/name`, { name: "y".repeat(64) });
  await session.subagentStarts("f");
  const [newest] = (await session.record()).children;
  assert.equal(newest?.name, `${"y".repeat(54)}.explore-3`);
});

Deno.test("a client reports its subagents over its socket, and they end with it", async () => {
  await using at = await worldWithSession();
  const { w } = at;
  const socket = await connectPeer(w, "ada");
  const frame = { type: "subagent", agent_id: "ses_1", agent_type: "general" };
  await socket.send({ ...frame, phase: "started" });
  await socket.send({ ...frame, agent_id: "ses_2", phase: "started" });
  await socket.send({ ...frame, phase: "ended" });
  await socket.send({ ...frame, agent_id: "", phase: "started" });
  assert.equal(socket.of("error").length, 1, "An id is needed");
  const children = async () => {
    const { children } = await get(w, "/peers/ada");
    return children.map(({ name, status }: Record<string, string>) => `${name} ${status}`);
  };
  assert.deepEqual(await children(), ["ada.general-2 busy", "ada.general-1 offline"]);
  await socket.drop();
  assert.deepEqual(await children(), ["ada.general-2 offline", "ada.general-1 offline"]);
});

Deno.test("the same start twice is one subagent, and a later start of it brings it back", async () => {
  await using at = await worldWithSession();
  const { session } = at;
  await session.subagentStarts("a-1");
  await session.subagentStarts("a-1");
  assert.equal((await session.children()).length, 1);
  await session.subagentStops("a-1");
  await session.subagentStops("a-1");
  assert.match((await session.children())[0] ?? "", / offline$/);
  await session.subagentStarts("a-1");
  const [child, ...others] = (await session.record()).children;
  assert.deepEqual([child?.status, child?.ended_at, others], ["busy", null, []]);
});

Deno.test("an end without a start, and a program's own helper, make no child", async () => {
  await using at = await worldWithSession();
  const { session } = at;
  await session.subagentStops("a-1", "");
  await session.send("PermissionRequest", {
    agent_id: "a-2",
    agent_type: "",
    tool_name: "Bash",
    tool_input: {},
  });
  assert.deepEqual(await session.children(), []);
});

Deno.test("an event in a subagent whose start was missed makes it a child", async () => {
  await using at = await worldWithSession();
  const { session } = at;
  const inside = { agent_id: "a-1", agent_type: "Explore", tool_name: "Bash", tool_input: {} };
  await session.send("PermissionRequest", inside);
  assert.match((await session.children())[0] ?? "", /explore-1 busy$/);
});

Deno.test("lists and counts: a subagent is in the inventory, and left out on request", async () => {
  await using at = await worldWithSession();
  const { w, session } = at;
  const { name } = await session.record();
  await session.subagentStarts("a-1");
  assert.deepEqual(await names(w), [name, `${name}.explore-1`]);
  assert.deepEqual(await names(w, "?listed=true"), [name]);
  assert.deepEqual(await names(w, "?subagents=false"), [name]);
  assert.deepEqual(await names(w, "?subagents=true"), [`${name}.explore-1`]);
  assert.equal((await get(w, "/health")).peers, 1);
});

Deno.test("a broadcast skips a subagent, and least_busy never picks it", async () => {
  await using at = await worldWithSession({ settings: { "routing.strategy": "least_busy" } });
  const { w, session } = at;
  await addPeer(w, "ada");
  await session.subagentStarts("a-1");
  const { name, children: [child] } = await session.record();
  const sent = await post(w, "/broadcast", { from_peer: "ada", text: "Hello" });
  assert.deepEqual(sent.sent_to.map((to: { name: string }) => to.name), [name]);
  assert.deepEqual(sent.skipped, [{ peer_id: child?.peer_id, reason: "peer_not_addressable" }]);
  await ask(w, "ada", name);
  for (let n = 0; n < 3; n++) {
    const { to_peer_id } = await post(w, "/ask", { from_peer: "ada", text: "Who?" });
    assert.equal(to_peer_id, session.peer_id);
  }
});

Deno.test("the parent's end is the end of its subagents", async () => {
  for (const path of ["offline", "unregister", "close"]) {
    await using at = await worldWithSession();
    const { w, session } = at;
    const { peer_id } = session;
    await session.subagentStarts("a-1");
    const [child] = (await session.record()).children;
    if (path === "offline") await post(w, `/peers/${peer_id}/offline`);
    else if (path === "unregister") await post(w, "/peer/unregister", { peer_id });
    else await w.fetch(`/peers/${peer_id}`, { method: "DELETE" });
    assert.equal((await get(w, `/peers/${child?.peer_id}`)).status, "offline", path);
    const [cause] = eventData(w, "peer_offline").filter((event) =>
      event["peer_id"] === child?.peer_id
    );
    assert.equal(cause?.["reason"], "parent_offline", path);
  }
});

Deno.test("the end of the session's process is the end of its subagents", async () => {
  await using at = await worldWithSession();
  const { w, session } = at;
  await session.subagentStarts("a-1");
  w.processes.end(SESSION_PID);
  await w.tick();
  assert.match((await session.children())[0] ?? "", / offline$/);
});

Deno.test("a turn that ends with no running task ends subagents whose end was lost", async () => {
  await using at = await worldWithSession();
  const { session } = at;
  await session.subagentStarts("a-1");
  await session.stop();
  await session.stop([{ id: "a-1", type: "subagent", status: "running" }]);
  assert.match((await session.children())[0] ?? "", / busy$/, "It may still run");
  await session.stop([]);
  assert.match((await session.children())[0] ?? "", / offline$/);
});

Deno.test("after a restart of the daemon no subagent is live without evidence", async () => {
  using folder = temporary();
  const db_path = `${folder.path}/mesh.db`;
  const processes = new FakeProcesses();
  const shared = { db_path, processes, clock: new FakeClock(), ids: countingIds() };
  {
    await using at = await worldWithSession(shared);
    await at.session.subagentStarts("a-1");
    await at.session.subagentStarts("a-2");
  }
  await using at = await worldWithSession(shared);
  const { session } = at;
  assert.deepEqual((await session.children()).map((text) => text.split(" ")[1]), [
    "offline",
    "offline",
  ]);
  await session.send("PermissionRequest", {
    agent_id: "a-2",
    agent_type: "Explore",
    tool_name: "Bash",
    tool_input: {},
  });
  assert.deepEqual((await session.children()).map((text) => text.split(" ")[1]), [
    "busy",
    "offline",
  ]);
});

Deno.test("a child that registered by itself is shown, and ends as other peers do", async () => {
  await using at = await worldWithSession();
  const { w, session } = at;
  const provenance = {
    source: "hook" as const,
    parent_runtime_id: session.session_id,
    ephemeral: true,
    addressable: false,
  };
  w.processes.start(800);
  const { peer_id } = await addPeer(w, "own", { agent_pid: 800, provenance });
  await session.stop([]);
  const [child] = (await session.record()).children;
  assert.deepEqual([child?.peer_id, child?.type, child?.status], [peer_id, null, "online"]);
  w.processes.end(800);
  await w.tick(ENDED_MS_MAX / 1000 + 60);
  assert.equal((await get(w, `/peers/${peer_id}`)).status, "offline", "It has its record");
});

Deno.test("the doctor finds no contradiction in a subagent", async () => {
  await using at = await worldWithSession();
  const { w, session } = at;
  await session.subagentStarts("a-1");
  await w.tick(3600);
  const [child] = (await session.record()).children;
  const report = await get(w, `/peers/${child?.peer_id}/doctor`);
  assert.equal(child?.status, "busy");
  assert.deepEqual(report.contradictions, []);
});
