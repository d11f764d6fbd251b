/** `mesh run` in a window of a real kitty, with a real daemon: from the first message to the end. */

import assert from "node:assert/strict";
import { createDaemonClient } from "../../../cli/client/daemon_client.ts";
import { readTextOrNothing } from "../../../daemon/host/paths.ts";
import { isAlive } from "../../../daemon/host/processes.ts";
import { type Kitty, withKitty } from "../../support/host/private_kitty.ts";
import { RealDaemon } from "../../support/programs/child.ts";
import { meshCommand } from "../../support/programs/program.ts";
import { until } from "../../support/waiting.ts";
import { getPeer } from "protocol/peers/contract.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { getTrace } from "protocol/messages/contract.ts";
import { diagnosePeer, linkPane, listOrphans, showPane } from "protocol/lifecycle.ts";

const MESH = meshCommand(["run"]);

/** A daemon beside kitty, and what the tests ask of it. */
async function fixture(kitty: Kitty) {
  const state = `${kitty.dir}/state`;
  Deno.mkdirSync(state, { mode: 0o700 });
  const daemon = await RealDaemon.start(state);
  const env = { MESH_STATE: state, MESH_CONFIG: "/none" };
  const { call } = createDaemonClient(env, false, { url: daemon.base, token: undefined });
  const get = (name: string) => call(getPeer, { params: { id: name }, query: {} });
  const run = async (name: string, program: string) => {
    const variables = Object.entries(env).map((pair) => pair.join("="));
    const command = ["/usr/bin/env", ...variables, ...MESH, "--name", name, "--"];
    const window = await kitty.open([...command, "sh", "-c", program]);
    const peer = await until(`${name} online`, async () => {
      const found = await get(name).catch(() => undefined);
      return found?.status === "online" && found;
    });
    return { window, peer };
  };
  const send = async (to_peer: string, text: string) => {
    const body = { from_peer: "tester", to_peer, text };
    return await call(notifyPeer, { body });
  };
  const stages = async (trace_id: string) => {
    const { stages } = await call(getTrace, { params: { trace_id } });
    return JSON.stringify(stages);
  };
  return { daemon, call, get, run, send, stages };
}

withKitty("a program in kitty reads messages, and its window's end takes it offline", async (k) => {
  const { daemon, call, get, run, send, stages } = await fixture(k);
  await using _ = daemon;
  const { window, peer } = await run("db", "exec cat > lines");
  const { pane_id, terminal, tmux_socket, tmux_session, circle, transport } = peer;
  assert.deepEqual(
    { pane_id, terminal, tmux_socket, tmux_session, circle, transport },
    {
      pane_id: window,
      terminal: "kitty",
      tmux_socket: k.address,
      tmux_session: null,
      circle: "default",
      transport: "pane",
    },
  );
  const lines = () => readTextOrNothing(`${k.dir}/lines`) ?? "";
  const first = await send("db", "Which tables are there?");
  await until("the message", () => lines().includes("Which tables are there?"));
  assert.match(await stages(first.delivery_id), /"sent"/);

  await k.type(window, "a draft");
  await until("the draft", async () => {
    const { rows } = await call(showPane, { params: { id: "db" }, query: {} });
    return rows.some((row) => row.includes("a draft"));
  });
  const second = await send("db", "And which columns?");
  await until(
    "it to wait",
    async () => (await stages(second.delivery_id)).includes("draft_present"),
  );
  assert.equal((await get("db")).inbound_status, "pane_unsafe");
  assert.ok(!lines().includes("a draft"));
  await k.type(window, "\r");
  await until("the second message", () => lines().includes("And which columns?"));

  const { checks } = await call(diagnosePeer, { params: { id: "db" }, query: {} });
  assert.ok(checks.some(({ detail }) => detail.startsWith(`${window}: `)), JSON.stringify(checks));
  const other = await k.open(["cat"]);
  const { panes } = await call(listOrphans, {});
  const orphan = panes.find(({ pane_id }) => pane_id === other);
  assert.equal(orphan?.tmux_socket, k.address);
  const body = { backend: "generic", tmux_socket: k.address, name: "cat" } as const;
  const linked = await call(linkPane, { params: { pane_id: other }, query: {}, body });
  assert.deepEqual([linked.linked, (await get("cat")).terminal], [true, "kitty"]);

  await k.close(window);
  await until("db offline", async () => (await get("db")).status === "offline");
});

withKitty("a message to a program whose kitty was killed is kept in its queue", async (k) => {
  const { daemon, get, run, send, stages } = await fixture(k);
  await using _ = daemon;
  // The program outlives its terminal.
  const { peer } = await run("log", "trap '' HUP; echo $$ > pid; exec tail -f /dev/null");
  const program = Number(
    await until("its pid", () => readTextOrNothing(`${k.dir}/pid`)?.trim()),
  );
  k.kill();
  await until("the end of kitty", () => !isAlive(k.pid));
  const { delivery_id } = await send("log", "Are you there?");
  await until("the reason", async () => {
    const { status } = await get("log");
    return status === "offline" || (await stages(delivery_id)).includes("kitty_unreachable");
  });
  assert.match(await stages(delivery_id), /"queued"/);
  assert.doesNotMatch(await stages(delivery_id), /"sent"|"failed"|"dropped"/);
  for (const pid of [program, peer.agent_pid ?? 0]) if (isAlive(pid)) Deno.kill(pid, "SIGKILL");
});
