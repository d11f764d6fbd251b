/** Leases of real processes: through the restart of an agent, and for a pid that is used again. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { listLeases, takeLease } from "protocol/holdings/leases.ts";
import { getPeer, listPeers } from "protocol/peers/contract.ts";
import { spawnPeer } from "protocol/spawn/contract.ts";
import { restartPeer } from "protocol/spawn/restarts.ts";
import { Lab, withLab } from "../../../support/e2e/lab.ts";
import { until } from "../../../support/waiting.ts";

withLab(import.meta.url, "a real agent keeps its leases when it is restarted", async () => {
  const show = { command: "echo PORT=$MESH_LEASE_PORT_WEB" };
  const steps = [{ tool: "Bash", args: show }, { say: "Shown" }];
  await using lab = new Lab({
    bare: true,
    permissions: ["mcp__mesh", "Bash"],
    rules: [{ match: /Show it/, steps }],
  });
  const commands = { "claude-code": ["claude", "--permission-mode", "manual"] };
  await lab.mesh.setUp({ config: { spawn: { commands, allowed_paths: [lab.dir] } } });
  await lab.mesh.up({ TMUX: `${lab.tmux_socket},1,0` });
  const { call } = lab.mesh;
  const leases = async () => (await call(listLeases, {})).leases;
  const showsPort = async (port: number | null | undefined, times: number) => {
    await until("the port at its model", () => {
      const results = lab.model.asked("Show it").flatMap(({ results }) => results);
      return results.filter((text) => text.includes(`PORT=${port}`)).length >= times;
    });
    await until("the end of its turn", async () => {
      return (await call(listPeers, { query: {} })).peers.some(({ name, turn_state }) =>
        name === "api" && turn_state === "idle"
      );
    });
  };
  await call(spawnPeer, {
    query: { tmux_socket: lab.tmux_socket },
    body: {
      path: join(lab.dir, "api"),
      backend: "claude-code",
      name: "api",
      message: "Show it",
      leases: ["port:web", "db"],
    },
  });
  const before = await leases();
  const port = before.find(({ resource }) => resource === "port")?.port;
  await showsPort(port, 1);
  await call(restartPeer, { params: { id: "api" }, body: { message: "Show it again" } });
  await showsPort(port, 2);
  const { agent_pid, peer_id } = await call(getPeer, { params: { id: "api" }, query: {} });
  const after = await leases();
  assert.deepEqual(
    after.map((lease) => [lease.lease_id, lease.value, lease.pid, lease.peer_id]),
    before.map((lease) => [lease.lease_id, lease.value, agent_pid, peer_id]),
  );
  await lab.endAgents();
  await until("the end of its leases", async () => (await leases()).length === 0);
});

/** Starts processes until one has this pid. Only in a namespace of ours. */
async function startAs(pid: number): Promise<Deno.ChildProcess> {
  for (;;) {
    Deno.writeTextFileSync("/proc/sys/kernel/ns_last_pid", String(pid - 1));
    const child = new Deno.Command("sleep", { args: ["600"], stdin: "null" }).spawn();
    if (child.pid === pid) return child;
    child.kill("SIGKILL");
    await child.status;
  }
}

withLab(
  import.meta.url,
  "a lease ends with its process, although its pid is used again",
  async () => {
    await using lab = new Lab();
    await lab.mesh.setUp();
    await lab.mesh.up();
    const { call } = lab.mesh;
    const first = new Deno.Command("sleep", { args: ["600"], stdin: "null" }).spawn();
    const { pid } = first;
    const taken = await call(takeLease, { body: { resource: "gpu", pid } });
    assert.equal(taken.pid, pid);
    const other = call(takeLease, { body: { resource: "gpu", pid: Deno.pid } });
    await assert.rejects(other, /gpu/);
    first.kill("SIGKILL");
    await first.status;
    const next = await startAs(pid);
    const { leases } = await call(listLeases, {});
    assert.deepEqual(leases, []);
    await call(takeLease, { body: { resource: "gpu", pid } });
    await lab.mesh.crash();
    await lab.mesh.up();
    const kept = await lab.mesh.call(listLeases, {});
    assert.deepEqual(kept.leases.map((lease) => lease.pid), [pid], "kept through a restart");
    next.kill("SIGKILL");
    await next.status;
  },
);
