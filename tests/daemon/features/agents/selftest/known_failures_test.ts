/**
 * Transports that failed in a selftest: tried last, reported as degraded, and cleared by a pass.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Adapter } from "../../../../../daemon/features/agents/adapter.ts";
import { VERDICTS_FILE } from "protocol/agents/selftest.ts";
import { knownFailuresAt } from "../../../../../daemon/features/agents/selftest/known_failures.ts";
import { world } from "../../../../support/world.ts";
import { addPeer, get, notify } from "../../../../support/daemon/peer_clients.ts";

/** A state directory in which selftest may leave its results. */
function state() {
  const dir = Deno.makeTempDirSync({ prefix: "mesh-marks-" });
  const path = join(dir, VERDICTS_FILE);
  let changed_at = 1_000;
  return {
    knownFailures: knownFailuresAt(path),
    write(text: string) {
      Deno.writeTextFileSync(path, text);
      Deno.utimeSync(path, ++changed_at, changed_at);
    },
    setFailure(transport: string, why: string | null) {
      const transports = { [transport]: { degraded: why !== null, why } };
      const tested = { version: "2.1.329", at: "2026-11-21T12:00:00.000Z", transports };
      this.write(JSON.stringify({ agents: { "claude-code": tested } }));
    },
    [Symbol.dispose]: () => Deno.removeSync(dir, { recursive: true }),
  };
}

/** An agent with two transports that are always ready. */
function fixture({ knownFailures }: ReturnType<typeof state>) {
  const took: string[] = [];
  const transport = (name: "native" | "pane") => ({
    name,
    check: () => Promise.resolve({ ready: true } as const),
    deliver: () => {
      took.push(name);
      return Promise.resolve({ state: "sent" } as const);
    },
  });
  const adapter: Adapter = {
    backend: "claude-code",
    transports: () => [transport("native"), transport("pane")],
    transport: () => "native",
    observe: () => Promise.resolve(undefined),
  };
  return { w: world({ adapters: [adapter], knownFailures }), took };
}

const CLAUDE_PEER = { backend: "claude-code", runtime_session_id: "s-1", agent_pid: 41 };

Deno.test("a degraded transport is tried last, and first again once it has passed", async () => {
  using at = state();
  const { w, took } = fixture(at);
  await using _ = w;
  w.processes.start(41);
  const { peer_id } = await addPeer(w, "api", CLAUDE_PEER);
  const status = async () => (await get(w, `/peers/${peer_id}`)).inbound_status;
  const reason = async () => (await get(w, `/peers/${peer_id}`)).inbound_reason;
  const reportFailure = async () => {
    await w.tick(2);
    await notify(w, "web", "api", "Hello", { bypass_circle: true });
    await w.clock.settle();
    return took.at(-1);
  };
  assert.deepEqual([await reportFailure(), await status()], ["native", "ok"]);
  at.setFailure("native", "draft: The draft is gone");
  assert.deepEqual([await reportFailure(), await status()], ["pane", "degraded"]);
  assert.equal(await reason(), "draft: The draft is gone (mesh selftest, 2.1.329)");
  at.setFailure("native", null);
  assert.deepEqual([await reportFailure(), await status()], ["native", "ok"]);
  assert.equal(await reason(), undefined);
});

Deno.test("a transport that the peer does not have, or another agent's, degrades no peer", async () => {
  using at = state();
  const { w } = fixture(at);
  await using _ = w;
  w.processes.start(41);
  const { peer_id } = await addPeer(w, "api", CLAUDE_PEER);
  at.setFailure("pane", "by pane: deaf");
  await w.tick(2);
  assert.equal((await get(w, `/peers/${peer_id}`)).inbound_status, "ok");
});

Deno.test("the doctor of a peer reports known failures, beside the transport's current check", async () => {
  using at = state();
  const { w } = fixture(at);
  await using _ = w;
  w.processes.start(41);
  const { peer_id } = await addPeer(w, "api", CLAUDE_PEER);
  at.setFailure("native", "draft: The draft is gone");
  await w.tick(2);
  const { checks } = await get(w, `/peers/${peer_id}/doctor`);
  const transports = checks.filter(({ name }: { name: string }) => name.startsWith("transport"));
  assert.deepEqual(
    transports.map(({ name, ok, detail }: Record<string, unknown>) => [name, ok, detail]),
    [
      ["transport pane", true, "ready"],
      [
        ...["transport native", false],
        "ready, degraded: draft: The draft is gone (mesh selftest, 2.1.329)",
      ],
    ],
  );
});

Deno.test("a malformed or missing file degrades nothing", () => {
  using at = state();
  const { knownFailures } = at;
  knownFailures.refresh();
  assert.equal(knownFailures.degraded("claude-code", "native"), undefined);
  at.setFailure("native", "idle: deaf");
  knownFailures.refresh();
  assert.equal(
    knownFailures.degraded("claude-code", "native"),
    "idle: deaf (mesh selftest, 2.1.329)",
  );
  assert.equal(knownFailures.degraded("codex", "native"), undefined);
  assert.equal(knownFailures.degraded(null, "native"), undefined);
  for (const text of ["", "{", "[]", '{"agents": {"claude-code": 1}}']) {
    at.write(text);
    knownFailures.refresh();
    assert.equal(knownFailures.degraded("claude-code", "native"), undefined, text);
  }
});

Deno.test("GET /selftests lists the results of each transport, also after a new test", async () => {
  using at = state();
  await using w = world({ knownFailures: at.knownFailures });
  assert.deepEqual((await get(w, "/selftests")).tested, []);
  at.setFailure("native", "draft: it was overwritten");
  const row = { agent: "claude-code", version: "2.1.329", at: "2026-11-21T12:00:00.000Z" };
  assert.deepEqual((await get(w, "/selftests")).tested, [
    { ...row, transport: "native", degraded: true, why: "draft: it was overwritten" },
  ]);
  at.setFailure("native", null);
  assert.equal((await get(w, "/selftests")).tested[0].degraded, false);
});
