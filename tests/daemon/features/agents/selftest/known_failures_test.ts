/** Rungs that selftest saw fail: tried last, said so everywhere, and cleared by a later pass. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Adapter } from "../../../../../daemon/features/agents/adapter.ts";
import { VERDICTS_FILE } from "../../../../../daemon/features/agents/selftest/contract.ts";
import { marksIn } from "../../../../../daemon/features/agents/selftest/marks.ts";
import { world } from "../../../../support/world.ts";
import { enter, get, notify } from "../../../../support/daemon/peer_clients.ts";

/** A state directory in which selftest may leave its word. */
function state() {
  const dir = Deno.makeTempDirSync({ prefix: "mesh-marks-" });
  const path = join(dir, VERDICTS_FILE);
  let changed_at = 1_000;
  return {
    marks: marksIn(path),
    write(text: string) {
      Deno.writeTextFileSync(path, text);
      Deno.utimeSync(path, ++changed_at, changed_at);
    },
    say(rung: string, why: string | null) {
      const rungs = { [rung]: { degraded: why !== null, why } };
      const tested = { version: "2.1.329", at: "2026-11-21T12:00:00.000Z", rungs };
      this.write(JSON.stringify({ agents: { "claude-code": tested } }));
    },
    [Symbol.dispose]: () => Deno.removeSync(dir, { recursive: true }),
  };
}

/** An agent with two rungs, both of which are always ready. */
function office({ marks }: ReturnType<typeof state>) {
  const took: string[] = [];
  const rung = (name: "native" | "pane") => ({
    name,
    check: () => Promise.resolve({ ready: true } as const),
    deliver: () => {
      took.push(name);
      return Promise.resolve({ state: "sent" } as const);
    },
  });
  const adapter: Adapter = {
    backend: "claude-code",
    rungs: () => [rung("native"), rung("pane")],
    transport: () => "native",
    sight: () => Promise.resolve(undefined),
  };
  return { w: world({ adapters: [adapter], marks }), took };
}

const API = { backend: "claude-code", runtime_session_id: "s-1", agent_pid: 41 };

Deno.test("a degraded rung is tried last, and first again once it has passed", async () => {
  using at = state();
  const { w, took } = office(at);
  await using _ = w;
  w.processes.start(41);
  const { peer_id } = await enter(w, "api", API);
  const status = async () => (await get(w, `/peers/${peer_id}`)).inbound_status;
  const tell = async () => {
    await w.beat(2);
    await notify(w, "web", "api", "Hello", { bypass_circle: true });
    await w.clock.settle();
    return took.at(-1);
  };
  assert.deepEqual([await tell(), await status()], ["native", "ok"]);
  at.say("native", "draft: The draft is gone");
  assert.deepEqual([await tell(), await status()], ["pane", "degraded"]);
  at.say("native", null);
  assert.deepEqual([await tell(), await status()], ["native", "ok"]);
});

Deno.test("a rung that is not the peer's own, or another agent's, degrades no peer", async () => {
  using at = state();
  const { w } = office(at);
  await using _ = w;
  w.processes.start(41);
  const { peer_id } = await enter(w, "api", API);
  at.say("pane", "by pane: deaf");
  await w.beat(2);
  assert.equal((await get(w, `/peers/${peer_id}`)).inbound_status, "ok");
});

Deno.test("the doctor of a peer says what failed, beside what the rung says now", async () => {
  using at = state();
  const { w } = office(at);
  await using _ = w;
  w.processes.start(41);
  const { peer_id } = await enter(w, "api", API);
  at.say("native", "draft: The draft is gone");
  await w.beat(2);
  const { checks } = await get(w, `/peers/${peer_id}/doctor`);
  const rungs = checks.filter(({ name }: { name: string }) => name.startsWith("rung"));
  assert.deepEqual(
    rungs.map(({ name, ok, detail }: Record<string, unknown>) => [name, ok, detail]),
    [
      ["rung pane", true, "ready"],
      [
        ...["rung native", false],
        "ready, degraded: draft: The draft is gone (mesh selftest, 2.1.329)",
      ],
    ],
  );
});

Deno.test("a damaged file, and one that is gone, degrade nothing", () => {
  using at = state();
  const { marks } = at;
  marks.look();
  assert.equal(marks.degraded("claude-code", "native"), undefined);
  at.say("native", "idle: deaf");
  marks.look();
  assert.equal(marks.degraded("claude-code", "native"), "idle: deaf (mesh selftest, 2.1.329)");
  assert.equal(marks.degraded("codex", "native"), undefined);
  assert.equal(marks.degraded(null, "native"), undefined);
  for (const text of ["", "{", "[]", '{"agents": {"claude-code": 1}}']) {
    at.write(text);
    marks.look();
    assert.equal(marks.degraded("claude-code", "native"), undefined, text);
  }
});
