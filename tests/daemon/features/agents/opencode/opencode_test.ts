/**
 * opencode's plugin on the daemon's WebSocket, its pane without one, and its sessions on the disk.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type {
  Adapter,
  AgentPeer,
  AgentTransport,
} from "../../../../../daemon/features/agents/adapter.ts";
import {
  opencodeAdapter,
  opencodeScreen,
} from "../../../../../daemon/features/agents/opencode/opencode.ts";
import { resume } from "../../../../../daemon/features/agents/opencode/session_files.ts";
import type { View } from "../../../../../daemon/features/agents/screens.ts";
import { renamePeer } from "protocol/peers/contract.ts";
import { all } from "../../../../../daemon/features/peers/store.ts";
import { FakeClock } from "../../../../support/clock.ts";
import { type FakeSocket, type World, world } from "../../../../support/world.ts";
import { addPeer, ask, notify } from "../../../../support/daemon/peer_clients.ts";
import { outgoingNotification } from "../../../../support/agents/outgoing_message.ts";
import { silent, Terminal } from "../../../../support/host/private_tmux.ts";

const PID = 500;

/** Connects as opencode's plugin does. */
async function connectPlugin(w: World, more: Record<string, unknown> = {}): Promise<FakeSocket> {
  const socket = w.socket();
  await socket.connect({
    display_name: "opencode",
    backend: "opencode",
    path: "/work/api",
    agent_pid: PID,
    capabilities: ["delivery_receipts", "framed_text"],
    pane_id: "%4",
    tmux_socket: "/missing/tmux-1/own",
    ...more,
  });
  return socket;
}

function peerOf(w: World) {
  const found = all(w.daemon.ctx.db).find(({ backend }) => backend === "opencode");
  return found && w.daemon.records.mustGet(found.peer_id);
}

Deno.test("a plugin registers its agent with process, pane and session, under the usual name", async () => {
  await using w = world();
  w.processes.start(PID);
  const socket = await connectPlugin(w, { runtime_session_id: "ses_a" });
  assert.equal(socket.closed, undefined);
  const peer = peerOf(w);
  assert.equal(peer?.name, "api-opencode");
  assert.equal(peer?.pane_id, "%4");
  assert.equal(peer?.tmux_socket, "/missing/tmux-1/own");
  assert.equal(peer?.transport, "websocket");
});

Deno.test("a renamed agent keeps its name when its plugin reconnects", async () => {
  await using w = world();
  w.processes.start(PID);
  const first = await connectPlugin(w);
  const { peer_id = "" } = peerOf(w) ?? {};
  await w.call(renamePeer, { params: { id: peer_id }, query: {}, body: { name: "backend-sam" } });
  const second = await connectPlugin(w, { runtime_session_id: "ses_b" });
  assert.equal(first.closed?.code, 4009);
  assert.equal(second.of("connected")[0]?.peer_id, peer_id);
  assert.equal(peerOf(w)?.name, "backend-sam");
});

Deno.test("messages for a plugin carry the framed text; those for other clients do not", async () => {
  await using w = world();
  w.processes.start(PID);
  await addPeer(w, "web");
  const plugin = await connectPlugin(w), plain = w.socket();
  await plain.connect({ display_name: "sdk" });
  const id = await ask(w, "web", "api-opencode", "a < b?");
  await notify(w, "web", "sdk");
  const [frame] = plugin.of("ask");
  assert.equal(frame?.text, "a < b?");
  assert.match(frame?.framed ?? "", /^\[mesh\] <peer-message type="ask" id="ask-.*">a &lt; b\?</);
  assert(frame?.framed?.includes(id));
  assert.equal(plain.of("notify")[0]?.framed, undefined);
});

Deno.test("a plugin's status reports turn and model, and its chat proves what was seen", async () => {
  await using w = world();
  w.processes.start(PID);
  await addPeer(w, "web");
  const plugin = await connectPlugin(w);
  await plugin.send({ type: "status", status: "busy", turn_state: "working", model: "fake/one" });
  const peer = peerOf(w);
  assert.equal(peer?.model, "fake/one");
  assert.equal(peer?.turn_state, "working");
  const id = await ask(w, "web", "api-opencode");
  await plugin.send({ type: "chat_turn", role: "user", text: plugin.of("ask")[0]?.framed ?? "" });
  assert.equal(w.daemon.delivery.findMessage(id)?.state, "seen");
});

Deno.test("with the hooks' token a plugin may connect and report, but run no verb", async () => {
  await using w = world({ settings: { "daemon.auth_token": "a-secret-of-the-user" } });
  w.processes.start(PID);
  const auth_token = w.daemon.identity.hook_token;
  const plugin = await connectPlugin(w, { auth_token });
  assert.equal(plugin.closed, undefined);
  await plugin.send({ type: "status", status: "busy", turn_state: "working" });
  assert.equal(peerOf(w)?.turn_state, "working");
  const request = { request_id: "1", to_peer: "api-opencode", text: "hi" };
  await plugin.send({ type: "notify", ...request });
  assert.match(JSON.stringify(plugin.of("result")), /unauthorized/);
});

Deno.test("the hooks' token admits no surface, no human, no other agent and no claimed peer", async () => {
  await using w = world({ settings: { "daemon.auth_token": "a-secret-of-the-user" } });
  w.processes.start(PID);
  const auth_token = w.daemon.identity.hook_token;
  for (
    const claim of [
      { backend: "sdk" },
      { role: "human" },
      { role: "orchestrator" },
      { display_name: "dashboard" },
      { capabilities: ["framed_text", "inbox_surface"] },
      { peer_id: "peer-000000000001" },
      { agent_pid: undefined },
      { auth_token: "another" },
    ]
  ) {
    const socket = await connectPlugin(w, { auth_token, ...claim });
    assert.equal(socket.closed?.code, 4001, JSON.stringify(claim));
  }
});

/** An adapter whose one transport accepts everything. */
function sendingAdapter(deliveredIds: string[]): Adapter {
  const transport: AgentTransport = {
    name: "pane",
    check: () => Promise.resolve({ ready: true }),
    deliver: (_, { delivery_id }) => {
      deliveredIds.push(delivery_id);
      return Promise.resolve({ state: "sent" });
    },
  };
  return {
    backend: "opencode",
    transports: () => [transport],
    transport: () => "pane",
    observe: () => Promise.resolve(undefined),
  };
}

Deno.test("a message that was sent to a plugin waits for a socket, and is not typed into a pane", async () => {
  const deliveredIds: string[] = [];
  await using w = world({ adapters: [sendingAdapter(deliveredIds)] });
  w.processes.start(PID);
  await addPeer(w, "web");
  const plugin = await connectPlugin(w);
  const id = await ask(w, "web", "api-opencode");
  await plugin.drop();
  await w.tick(30);
  assert.deepEqual(deliveredIds, []);
  assert.equal(w.daemon.delivery.findMessage(id)?.state, "queued");
  assert.equal(w.daemon.delivery.findMessage(id)?.reason, "socket_awaited");
  const again = await connectPlugin(w);
  assert.equal(again.of("ask")[0]?.correlation_id, id);
});

Deno.test("a message that never went to a plugin goes by the other transports", async () => {
  const deliveredIds: string[] = [];
  await using w = world({ adapters: [sendingAdapter(deliveredIds)] });
  w.processes.start(PID);
  await addPeer(w, "web");
  await (await connectPlugin(w)).drop();
  const { delivery_id } = await notify(w, "web", "api-opencode");
  await w.tick();
  assert.deepEqual(deliveredIds, [delivery_id]);
});

const PEER: AgentPeer = {
  peer_id: "peer-1",
  backend: "opencode",
  tmux_socket: null,
  pane_id: null,
  agent_pid: null,
  agent_started: null,
  runtime_session_id: null,
  turn_state: null,
  metadata: {},
};
const OUTGOING = outgoingNotification("notif-1", "hi");

Deno.test("the pane is not tried before a plugin had time to connect", async () => {
  const clock = new FakeClock();
  await using terminal = new Terminal();
  const { tmuxServers: terminalServers } = terminal;
  const adapter = opencodeAdapter({ terminalServers, clock, log: silent, data_dir: "/none" });
  const [pane] = adapter.transports(PEER, OUTGOING);
  const reason = async () => {
    const readiness = await pane?.check(PEER, OUTGOING);
    return readiness?.ready ? "ready" : readiness?.reason;
  };
  for (let second = 0; second < 15; second++) {
    assert.equal(await reason(), "plugin_awaited");
    await clock.advance(1000);
  }
  assert.equal(await reason(), "no_pane");
  await clock.advance(60_000); // No message waited: the daemon may have restarted since.
  assert.equal(await reason(), "plugin_awaited");
});

function screen(name: string): View {
  const path = new URL(`../../../../golden/screens/opencode/${name}.txt`, import.meta.url);
  const lines = Deno.readTextFileSync(path).trimEnd().split("\n");
  return { above: [], lines, cursor_x: 0, cursor_y: 0 };
}

Deno.test("captured screens are read correctly: first, empty, a draft, a dialog", () => {
  const read = (
    view: View,
  ) => [opencodeScreen.dialogOpen(view), opencodeScreen.composerEmpty(view)];
  assert.deepEqual(read(screen("first")), [false, true]);
  assert.deepEqual(read(screen("empty")), [false, true]);
  assert.deepEqual(read(screen("draft")), [false, false]);
  assert.deepEqual(read(screen("permission")), [true, undefined]);
  assert.deepEqual(read({ ...screen("empty"), lines: ["$ opencode", ""] }), [undefined, undefined]);
});

Deno.test("a composer holds the pasted text, or the marker of a long one, and nothing else", () => {
  const shown = (text: string) => ({
    ...screen("draft"),
    lines: screen("draft").lines.map((row) => row.replace("a half-typed thought", text)),
  });
  assert(opencodeScreen.composerHolds(shown("[mesh] notif-1 hi"), "[mesh] notif-1 hi"));
  assert(!opencodeScreen.composerHolds(shown("[mesh] notif-1 hi and more"), "[mesh] notif-1 hi"));
  assert(opencodeScreen.collapsedPaste?.(shown("[Pasted ~41 lines]")));
  assert(!opencodeScreen.collapsedPaste?.(shown("hm [Pasted ~41 lines]")));
});

/** opencode 1.18's session database, as far as the adapter reads it. */
function storage(rows: readonly (readonly [string, string, string | null])[]) {
  const dir = Deno.makeTempDirSync({ prefix: "mesh-opencode-" });
  using db = new DatabaseSync(join(dir, "opencode.db"));
  db.exec("create table session (id text primary key, directory text, parent_id text)");
  for (const row of rows) db.prepare("insert into session values (?, ?, ?)").run(...row);
  return { dir, [Symbol.dispose]: () => Deno.removeSync(dir, { recursive: true }) };
}

Deno.test("a session is resumed only if it exists, and belongs to that folder", () => {
  using data = storage([
    ["ses_a", "/work/api", null],
    ["ses_sub", "/work/api", "ses_a"],
  ]);
  const at = (runtime_session_id: string, path = "/work/api", dir = data.dir) =>
    resume(dir, { runtime_session_id, path });
  assert.deepEqual(at("ses_a"), { ok: true, args: ["-s", "ses_a"] });
  const reason = (...of: Parameters<typeof at>) => {
    const found = at(...of);
    return found.ok ? "ok" : found.reason;
  };
  assert.equal(reason("ses_b"), "no_such_session");
  assert.equal(reason("ses_sub"), "session_of_subagent");
  assert.equal(reason("ses_a", "/work/web"), "session_of_other_folder");
  assert.equal(reason("--help"), "not_a_session_id");
  assert.equal(reason("ses_a", "/work/api", "/none"), "no_session_storage");
  Deno.writeTextFileSync(join(data.dir, "opencode.db"), "no database at all, of any version");
  assert.equal(reason("ses_a"), "session_storage_unreadable");
});
