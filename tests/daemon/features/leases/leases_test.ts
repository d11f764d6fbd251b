/** Leases: one holder, ports of their own, the end with the process, proofs of who may take one. */

import assert from "node:assert/strict";
import { Problem } from "protocol/problems.ts";
import { addPeer, get, post } from "../../../support/daemon/peer_clients.ts";
import { agentInPane, restartAndRegister } from "../../../support/daemon/restarts.ts";
import { registerSpawned, spawningWorld } from "../../../support/daemon/spawns.ts";
import { FakeSockets, world } from "../../../support/world.ts";

const TERMINAL = { "x-mesh-terminal": "77" };
const RANGE = "24000-24002";

/** The agents api (process 41) and web (42), and a person's shell (77, child of 70). */
async function leaseWorld({ used = [] as readonly number[], human = false } = {}) {
  const sockets = new FakeSockets();
  const w = world({
    settings: { "human.name": "sam", "leases.ports": RANGE },
    at_terminal: human,
    sockets,
    ports: {
      isFree: (port) => !used.includes(port),
      listenersAt: (port) =>
        port === 24_001
          ? { own: [{ pid: 43, command: "vite" }, { pid: 90, command: null }], others: 1 }
          : { own: [], others: 0 },
    },
  });
  for (const pid of [41, 42, 70]) w.processes.start(pid);
  w.processes.start(43, 42);
  await addPeer(w, "api", { circle: "main", agent_pid: 41 });
  await addPeer(w, "web", { circle: "main", agent_pid: 42 });
  const send = async (method: string, path: string, body?: unknown) => {
    const init = {
      method,
      headers: TERMINAL,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    const response = await w.fetch(path, init);
    return { status: response.status, ...await response.json() };
  };
  return {
    w,
    sockets,
    send,
    /** Takes a lease in the name of a peer, whose process sends the request. */
    take: (from_peer: string, pid: number, resource: string, name?: string) => {
      sockets.holders = [pid];
      return send("POST", "/leases", { from_peer, resource, name });
    },
    names: async () => {
      const { leases } = await send("GET", "/leases");
      return leases.map(({ resource, name, holder }: Record<string, string>) =>
        [resource, name, holder].join(" ")
      );
    },
    [Symbol.asyncDispose]: () => w[Symbol.asyncDispose](),
  };
}

Deno.test("each process gets a port of its own for a name, and the same one when it asks again", async () => {
  await using at = await leaseWorld({ used: [24_000] });
  const first = await at.take("api", 41, "port", "web");
  assert.deepEqual(
    [first.port, first.value, first.variable, first.holder, first.pid],
    [24_001, "24001", "MESH_LEASE_PORT_WEB", "api", 41],
  );
  assert.equal((await at.take("web", 42, "port", "web")).port, 24_002);
  assert.equal((await at.take("api", 41, "port", "web")).lease_id, first.lease_id);
  const third = await at.take("api", 41, "port", "other");
  assert.deepEqual([third.status, third.error], [409, "no_free_port"]);
  const unnamed = await at.take("api", 41, "port");
  assert.deepEqual([unnamed.status, unnamed.error], [422, "lease_needs_name"]);
});

Deno.test("another resource has one holder, until its process is proved to have ended", async () => {
  await using at = await leaseWorld();
  assert.equal((await at.take("api", 41, "gpu", "0")).holder, "api");
  const refused = await at.take("web", 42, "gpu", "0");
  assert.deepEqual([refused.status, refused.error, refused.holder], [409, "lease_held", "api"]);
  assert.equal((await at.take("web", 42, "gpu", "1")).status, 200);
  at.w.processes.end(41);
  assert.equal((await at.take("web", 42, "gpu", "0")).holder, "web");
  // Another process with the same number is not the holder.
  at.w.processes.end(42);
  at.w.processes.start(42);
  assert.deepEqual(await at.names(), []);
});

Deno.test("a lease without a request for it ends at a tick, with an event", async () => {
  await using at = await leaseWorld();
  await at.take("api", 41, "db");
  at.w.processes.end(41);
  await at.w.tick(6);
  const states = at.w.events.flatMap((event) => event.type === "lease" ? event.data["state"] : []);
  assert.deepEqual(states, ["taken", "ended"]);
});

Deno.test("an agent names itself or a process that it started, and others any process of the user", async () => {
  await using at = await leaseWorld();
  at.w.processes.start(45, 41);
  at.sockets.holders = [41];
  const take = (pid?: number) =>
    at.send("POST", "/leases", { from_peer: "api", resource: "db", name: `p${pid}`, pid });
  assert.deepEqual((await take(45)).pid, 45);
  for (const pid of [42, 43, 999]) {
    const stranger = await take(pid);
    assert.deepEqual([stranger.status, stranger.error], [403, "lease_holder_not_proven"], `${pid}`);
  }
  at.sockets.holders = [70];
  const nobody = await at.send("POST", "/leases", { resource: "db" });
  assert.equal(nobody.error, "lease_holder_not_proven");
  const script = await at.send("POST", "/leases", { resource: "db", pid: 70 });
  assert.deepEqual([script.status, script.holder, script.peer_id], [200, "process 70", null]);
});

Deno.test("the lease of a process that an agent named ends with this process, not with the agent", async () => {
  await using at = await leaseWorld();
  at.w.processes.start(45, 41);
  at.sockets.holders = [41];
  await at.send("POST", "/leases", { from_peer: "api", resource: "db", pid: 45 });
  assert.deepEqual(await at.names(), ["db  api"]);
  at.w.processes.end(45);
  assert.deepEqual(await at.names(), []);
});

Deno.test("only the holder and a person end a lease", async () => {
  await using at = await leaseWorld();
  const { lease_id } = await at.take("api", 41, "db");
  at.sockets.holders = [42];
  const refused = await at.send("DELETE", `/leases/${lease_id}?from_peer=web`);
  assert.deepEqual([refused.status, refused.error], [403, "not_your_lease"]);
  at.sockets.holders = [41];
  assert.equal((await at.send("DELETE", `/leases/${lease_id}?from_peer=api`)).status, 200);
  assert.equal((await at.send("DELETE", `/leases/${lease_id}`)).error, "unknown_lease");
  await using person = await leaseWorld({ human: true });
  const other = await person.take("api", 41, "db");
  person.sockets.holders = [77];
  assert.equal((await person.send("DELETE", `/leases/${other.lease_id}`)).status, 200);
});

Deno.test("who uses a port: its lease, the processes that listen, and the agents that started them", async () => {
  await using at = await leaseWorld({ used: [24_000] });
  await at.take("api", 41, "port", "web");
  const { lease, listeners, others } = await at.send("GET", "/ports/24001");
  assert.equal(lease.holder, "api");
  assert.deepEqual(
    listeners.map(({ pid, name, command }: Record<string, unknown>) => [pid, name, command]),
    [[43, "web", "vite"], [90, null, null]],
  );
  assert.equal(others, 1);
  assert.equal((await at.send("GET", "/ports/70000")).status, 422);
});

Deno.test("a spawned agent has its leases in its environment, until it ends", async () => {
  await using fixture = await spawningWorld();
  const { w, folder, processes, terminals } = fixture;
  const leases = ["port:web", "db"];
  const spawned = await post(w, "/spawn", { path: folder, backend: "codex", leases });
  const env = terminals.launches[0]?.env ?? {};
  assert.deepEqual([env["MESH_LEASE_PORT_WEB"], env["MESH_LEASE_DB"]], ["24000", "db"]);
  const pid = terminals.panes.get(spawned.pane_id)?.pane_pid ?? 0;
  const peer = await registerSpawned(w, spawned.pane_id, { agent_pid: pid });
  const holders = async () =>
    (await get(w, "/leases")).leases.map(({ holder }: { holder: string }) => holder);
  assert.deepEqual(await holders(), [peer.display_name, peer.display_name]);
  const again = await post(w, "/spawn", { path: folder, backend: "codex", leases });
  assert.deepEqual([again.status, again.error], [409, "lease_held"]);
  assert.equal((await holders()).length, 2, "a start that is refused leaves no lease");
  processes.end(pid);
  assert.deepEqual(await holders(), []);
});

Deno.test("leases of one start with the same variable are refused, and the same lease twice is one", async () => {
  await using fixture = await spawningWorld();
  const { w, folder, terminals } = fixture;
  const start = (leases: string[]) => post(w, "/spawn", { path: folder, backend: "codex", leases });
  const refused = await start(["db-1", "db_1"]);
  assert.deepEqual([refused.status, refused.error], [422, "invalid_request"]);
  assert.equal(terminals.launches.length, 0);
  await start(["db-1", "db-1", "9.x"]);
  const env = terminals.launches[0]?.env ?? {};
  assert.deepEqual([env["MESH_LEASE_DB_1"], env["MESH_LEASE_9_X"]], ["db-1", "9.x"]);
  assert.equal((await get(w, "/leases")).leases.length, 2);
});

Deno.test("the lease of a start outlives a change of the time of day, and ends after a minute without a process", async () => {
  await using fixture = await spawningWorld();
  const { w } = fixture;
  const { leases } = w.daemon;
  leases.takeForSpawn("spawn-x", [{ resource: "db", name: null }]);
  const count = () => leases.list().leases.length;
  assert.equal(count(), 1);
  w.clock.step(-3_600_000);
  assert.equal(count(), 1);
  await w.clock.advance(61_000);
  assert.equal(count(), 0);
});

Deno.test("a start whose leases cannot be stored leaves no agent and no lease behind", async () => {
  await using fixture = await spawningWorld();
  const { w, folder, terminals } = fixture;
  const { db } = w.daemon.ctx;
  const { transact } = db;
  const { openWindow } = terminals;
  terminals.openWindow = (...launch) => {
    db.transact = () => {
      throw new Problem("storage_failed", {});
    };
    return openWindow.apply(terminals, launch);
  };
  const body = { path: folder, backend: "codex", leases: ["db"] };
  const failed = await post(w, "/spawn", body);
  db.transact = transact;
  assert.equal(failed.error, "storage_unclear", "its leases were stored before");
  assert.equal(terminals.panes.size, 0);
  await w.tick(90);
  assert.deepEqual((await get(w, "/leases")).leases, []);
});

Deno.test("a restarted agent keeps its leases, also while no process of it runs", async () => {
  await using fixture = await spawningWorld();
  const { w, terminals } = fixture;
  const { peer_id, agent_pid } = await agentInPane(fixture);
  const { db } = w.daemon.ctx;
  const started = fixture.processes.startTimeOf(agent_pid) ?? "";
  db.transact((tx) =>
    tx.run(
      `insert into leases (lease_id, resource, name, port, peer_id, pid, process_started, taken_at)
       values ('lease-1', 'port', 'web', 24000, :peer_id, :agent_pid, :started, 0)`,
      { peer_id, agent_pid, started },
    )
  );
  await restartAndRegister(fixture);
  assert.equal(terminals.launches[0]?.env["MESH_LEASE_PORT_WEB"], "24000");
  await w.tick(90);
  const [lease] = (await get(w, "/leases")).leases;
  assert.deepEqual([lease?.peer_id, lease?.port], [peer_id, 24_000]);
  assert.notEqual(lease?.pid, agent_pid);
});
