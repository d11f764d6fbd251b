/** `mesh peers`: its ids, its circles, and `--prune`. */

import assert from "node:assert/strict";
import { answeringDaemon, PEER, refusal } from "../../support/cli/answering_daemon.ts";

const peer = (digits: string, more: Partial<typeof PEER> = {}) => ({
  ...PEER,
  peer_id: `peer-${digits.padEnd(12, "0")}`,
  name: `p-${digits}`,
  ...more,
});

const PEERS = [
  peer("3f9c04"),
  peer("3f9c05", { circle: "work" }),
  peer("a1b2", { status: "retired" }),
];

const answers = { "GET /peers": () => ({ peers: PEERS }) };

Deno.test("`peers` shows the shortest ids that are unique among all peers", async () => {
  await using p = answeringDaemon(answers);
  const { out } = await p.mesh(["peers", "--circle", "work"]);
  assert.match(out, /^ID +NAME/);
  assert.match(out, /^peer-3f9c05 +p-3f9c05/m);
  assert.doesNotMatch(out, /p-3f9c04/);
  assert.match((await p.mesh(["peers", "--all"])).out, /^peer-a1b2 /m);
  const { peers } = JSON.parse((await p.mesh(["peers", "--json"])).out);
  assert.deepEqual(peers, PEERS, "whole ids in JSON");
});

const child = (n: number, more: Record<string, unknown> = {}) => ({
  ...peer(`c0${n}`),
  name: `p-3f9c04.explore-${n}`,
  circle: "main",
  status: "busy",
  turn_state: "working",
  addressable: false,
  ephemeral: true,
  parent_runtime_id: PEERS[0]?.peer_id,
  parent_peer_id: PEERS[0]?.peer_id,
  ...more,
});

Deno.test("running subagents are listed below their parent, the newest three; all with --all", async () => {
  const ended = child(1, { status: "offline", turn_state: null });
  const children = [ended, child(2), child(3), child(4), child(5)];
  const orphan = child(6, { parent_peer_id: "peer-000000000000" });
  await using p = answeringDaemon({
    "GET /peers": () => ({ peers: [...PEERS, ...children, orphan] }),
  });
  const rows = async (...args: string[]) => {
    const { out } = await p.mesh(["peers", ...args]);
    return out.split("\n").flatMap((line) => /^peer-\S+ +(p-\S+)/.exec(line)?.[1] ?? []);
  };
  assert.deepEqual(await rows(), [
    "p-3f9c04",
    ...[3, 4, 5].map((n) => `p-3f9c04.explore-${n}`),
    "p-3f9c05",
  ]);
  const { out } = await p.mesh(["peers"]);
  const columnOf = (text: RegExp) => out.split("\n").find((line) => text.test(line))?.search(text);
  assert.equal(columnOf(/p-3f9c04\.explore-3/), (columnOf(/p-3f9c04 /) ?? 0) + 2, "indented");
  assert.match(out, /working \(subagent\)/);
  assert.match(out, /^2 more subagents: mesh peers --all$/m, "one has no parent in the list");
  assert.deepEqual(await rows("--all"), [
    "p-3f9c04",
    ...[1, 2, 3, 4, 5].map((n) => `p-3f9c04.explore-${n}`),
    "p-3f9c05",
    "p-a1b2",
    "p-3f9c04.explore-6",
  ]);
  const { peers } = JSON.parse((await p.mesh(["peers", "--json"])).out);
  assert.equal(peers.length, 9, "JSON has all");
});

Deno.test("a list never cuts an id or a peer's name, however narrow the terminal is", async () => {
  const name = "a-rather-long-name-of-a-peer-of-mesh";
  await using p = answeringDaemon({
    "GET /peers": () => ({ peers: [{ ...PEER, name, description: "Long ".repeat(40) }] }),
    "GET /asks": () => ({
      asks: [{
        correlation_id: "ask-3f9c04d1a2b7",
        from_peer_name: name,
        to_peer_name: name,
        state: "open",
        close_reason: null,
        created_at: "2030-01-01T00:00:00.000Z",
        text: "Long ".repeat(40),
      }],
      next: null,
    }),
  });
  for (const columns of [20, 60]) {
    assert.match((await p.mesh(["peers"], { columns })).out, new RegExp(`${name}( |$)`, "m"));
    assert.match((await p.mesh(["asks", "--all"], { columns })).out, /^ask-3f9c04d1a2b7\b/m);
  }
});

Deno.test("an unknown circle is refused with the circles that there are, and nothing is sent", async () => {
  await using p = answeringDaemon(answers);
  for (const args of [["peers"], ["broadcast", "All"]]) {
    const { code, out, err } = await p.mesh([...args, "--circle", "zzz"]);
    assert.deepEqual([code, out], [1, ""]);
    assert.equal(err, "mesh: Unknown circle: zzz\nmesh: The circles are: main, work\n");
  }
  assert.deepEqual(p.received.map(({ route }) => route), ["GET /peers", "GET /peers"]);
  await using empty = answeringDaemon({ "GET /peers": () => ({ peers: [] }) });
  assert.match((await empty.mesh(["peers", "--circle", "zzz"])).err, /There are no peers yet/);
});

Deno.test("a broadcast names the peers that did not get it", async () => {
  const skipped = [{ peer_id: PEERS[0]?.peer_id, reason: "offline" }];
  const failed = [{ peer_id: "peer-000000000000", error: "queue_full" }];
  const [, second, third] = PEERS;
  const named = (peer: typeof PEER | undefined) => ({ ...peer, display_name: peer?.name });
  const sent_to = [second, third].map((peer) => ({ ...peer, delivery_id: "qd-1" }));
  const peers = [
    named(PEERS[0]),
    { ...named(second), inbound_status: "no_transport" },
    {
      ...named(third),
      inbound_status: "pane_unsafe",
      inbound_reason: "native: no_session; pane: dialog_open",
    },
  ];
  await using p = answeringDaemon({
    "GET /peers": () => ({ peers }),
    "POST /broadcast": () => ({ ok: true, sent_to, skipped, failed }),
  });
  const { out } = await p.mesh(["broadcast", "All", "--circle", "work"]);
  const [first, ...lines] = out.trimEnd().split("\n");
  assert.match(first ?? "", /^sent to 2: /);
  assert.deepEqual(
    lines.map((line) => line.slice(0, 69)),
    [
      "not reached: p-3f9c04: it is offline",
      "not reached: peer-000000000000: too many messages wait for it already",
      "not yet reached: p-3f9c05, it waits: no transport reaches it now: no s",
      "not yet reached: p-a1b2, it waits: a dialog is open there, and Enter w",
    ].map((line) => line.slice(0, 69)),
  );
});

Deno.test("`peers` shows no transport and no folder of the human, and says how others are reached", async () => {
  const via = async (more: Record<string, unknown>) => {
    const peers = [{ ...peer("1"), circle: "c", path: null, ...more }];
    await using p = answeringDaemon({ "GET /peers": () => ({ peers }) });
    return (await p.mesh(["peers"])).out.split("\n")[1]?.replaceAll(/ {2,}/g, "|");
  };
  const human = { role: "human", backend: null, transport: "none", inbound_status: "ok" };
  assert.equal(await via(human), "peer-1000|p-1|c|human|online|inbox");
  const pane = { transport: "pane", inbound_status: "degraded" };
  assert.equal(await via(pane), "peer-1000|p-1|c|sdk|online|pane, degraded");
  assert.equal(await via({ transport: "none" }), "peer-1000|p-1|c|sdk|online|no way in");
  const offline = { transport: "none", status: "offline" };
  assert.equal(await via(offline), "peer-1000|p-1|c|sdk|offline");
  const waits_for = { kind: "trust", since: PEER.last_seen, source: "screen", detail: "hooks" };
  const asking = { transport: "pane", turn_state: null, waits_for };
  assert.equal(await via(asking), "peer-1000|p-1|c|sdk|awaiting input|pane", "a dialog at a start");
});

Deno.test("in a narrow terminal `peers` leaves out columns, so that the work of each peer is readable", async () => {
  const description = "Splits the release into three tasks";
  const peers = [peer("1", { name: "boss", backend: "claude-code" }), peer("2")]
    .map((peer) => ({ ...peer, description, turn_state: "awaiting_input" }));
  await using p = answeringDaemon({ "GET /peers": () => ({ peers }) });
  const head = async (columns: number) =>
    (await p.mesh(["peers"], { columns })).out.split("\n")[0]?.replaceAll(/ +/g, " ");
  assert.equal(await head(120), "ID NAME CIRCLE BACKEND STATUS VIA SEEN DOING");
  assert.equal(await head(80), "ID NAME CIRCLE BACKEND STATUS DOING");
  for (const row of (await p.mesh(["peers"], { columns: 80 })).out.split("\n")) {
    assert.ok(row.length <= 80, row);
  }
});

Deno.test("`peers --prune` says what it closed, and why others stay", async () => {
  const closed = [{ peer_id: "peer-1", name: "web", circle: "main" }];
  const kept = [{ peer_id: "peer-2", name: "api", circle: "work", reason: "open_asks" }];
  await using p = answeringDaemon({
    "POST /peers/prune": ({ body }) => ({ ...body as { dry_run: boolean }, closed, kept }),
  });
  const pruned = await p.mesh(["peers", "--prune"]);
  const rest = " web in main  peer-1\nkept api in work: asks to it or from it are open  peer-2\n";
  assert.equal(pruned.out, `closed${rest}`);
  assert.equal((await p.mesh(["peers", "--prune", "--dry-run"])).out, `would close${rest}`);
  assert.equal((await p.mesh(["peers", "--prune", "--circle", "main"])).code, 2);
  assert.equal((await p.mesh(["peers", "--dry-run"])).code, 2);
});

Deno.test("a command about one peer looks its name up in the circle of the peer that calls first", async () => {
  await using p = answeringDaemon({
    "GET /peers/identity/caller": ({ route }) =>
      route.includes("%253")
        ? { peer_id: "peer-3f9c04d1a2b7", name: "api", proof: "process" }
        : { peer_id: null, name: null, proof: "none" },
    "DELETE /peers/api": () => ({ ok: true }),
  });
  const env = { TMUX: "/missing/none,1,0", TMUX_PANE: "%3" };
  assert.equal((await p.mesh(["peer", "close", "api"], {}, env)).code, 0);
  assert.equal((await p.mesh(["peer", "close", "api"])).code, 0, "no peer calls");
  const closed = p.received.map(({ route }) => route).filter((route) => route.startsWith("DELETE"));
  assert.deepEqual(closed, ["DELETE /peers/api?from_peer=peer-3f9c04d1a2b7", "DELETE /peers/api"]);
});

Deno.test("shortened ids are completed in arguments and flags, by the daemon", async () => {
  const whole: Record<string, string> = {
    "peer-3f9c": "peer-3f9c04d1a2b7",
    "ask-00aa": "ask-00aabbccddee",
    "00aa": "ask-00aabbccddee",
  };
  const ids = Object.fromEntries(
    Object.entries(whole).map(([short, id]) => [`GET /ids/${short}`, () => ({ id })]),
  );
  const sent = { to_peer_name: "api", delivery_state: "sent", correlation_id: "ask-1" };
  await using p = answeringDaemon({
    ...ids,
    "POST /ask": () => sent,
    "POST /asks/many": () => ({ parent_id: "askm-1", children: [] }),
    "POST /ack": () => ({ ok: true, close_reason: "ack" }),
  });
  await p.mesh(["ask", "peer-3f9c", "beef", "--reply-to", "ask-00aa", "--from", "peer-3f9c"]);
  await p.mesh(["ask-many", "api,peer-3f9c", "Hi"]);
  await p.mesh(["ack", "00aa", "--from", "web"]);
  const bodies = p.received.filter(({ route }) => route.startsWith("POST")).map(({ body }) => body);
  const [ask, many, ack] = bodies as Record<string, unknown>[];
  const peer_id = "peer-3f9c04d1a2b7";
  assert.deepEqual([ask?.["to_peer"], ask?.["from_peer"], ask?.["reply_to"], ask?.["text"]], [
    peer_id,
    peer_id,
    "ask-00aabbccddee",
    "beef",
  ]);
  assert.deepEqual(many?.["to_peers"], ["api", peer_id]);
  assert.equal(ack?.["correlation_id"], "ask-00aabbccddee");
});

Deno.test("an ambiguous short id is refused with what it may mean; an unknown one may be a name", async () => {
  const matches = [{ id: "ask-00aabbccddee", label: "" }, { id: "ask-00aabbccddff", label: "" }];
  await using p = answeringDaemon({
    "GET /ids/ask-00aa": () => refusal(409, { error: "ambiguous_id", detail: "Two", matches }),
    "GET /ids/cafe": () => refusal(404, { error: "unknown_id", detail: "None" }),
    "POST /notify": () => ({ delivery_state: "sent", delivery_id: "notif-1", reason: null }),
  });
  const { code, err } = await p.mesh(["ack", "ask-00aa"]);
  assert.equal(code, 1);
  assert.equal(err, "mesh: Two\n  ask-00aabbccddee\n  ask-00aabbccddff\n");
  assert.equal((await p.mesh(["notify", "cafe", "Hi"])).code, 0);
  const [last] = p.received.slice(-1);
  assert.equal((last?.body as { to_peer: string }).to_peer, "cafe");
  assert.equal((await p.mesh(["notify", "dead", "Hi"])).code, 0, "a daemon without the route");
});
