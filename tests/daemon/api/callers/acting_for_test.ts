/** A caller may act in its own name, in a person's, or in a name that has no proof. */

import assert from "node:assert/strict";
import { NO_ACTOR } from "kit/http/contract.ts";
import { onePeer } from "protocol/peers/record.ts";
import {
  BASE,
  FakeSockets,
  TERMINAL_PROGRAM_PID,
  type World,
  world,
} from "../../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  get,
  post,
  signIn,
} from "../../../support/daemon/peer_clients.ts";

const VICTIM = 7, ATTACKER = 8, SHELL = 81, CHILD = 72, STRANGER = 666;

/**
 * A world with the peers `victim` (process 7, below which its child runs as process 72), `attacker`
 * (process 8, with a shell), and `web`, a client without a process.
 */
async function speakers(
  settings: Record<string, string> = {},
  isUserFacing?: (pid: number) => boolean,
) {
  const sockets = new FakeSockets();
  const w = world({ sockets, settings, isUserFacing });
  for (const pid of [VICTIM, ATTACKER]) w.processes.start(pid);
  w.processes.start(SHELL, ATTACKER);
  w.processes.start(CHILD, VICTIM);
  /** The caller of all requests from now on. */
  const as = (pid: number) => void (sockets.holders = [pid]);
  as(VICTIM);
  const victim = await addPeer(w, "victim", { agent_pid: VICTIM });
  as(ATTACKER);
  await addPeer(w, "attacker", { agent_pid: ATTACKER });
  await addPeer(w, "web");
  as(STRANGER);
  return { w, as, victim, [Symbol.asyncDispose]: () => w[Symbol.asyncDispose]() };
}

/** Every act in the name of the victim, which has an open ask, a queued message and a schedule. */
async function actsOf(w: World, peer_id: string) {
  const inbound = await ask(w, "web", "victim");
  const outbound = await ask(w, "web", "attacker");
  const at = new Date(w.clock.now() + 86_400_000).toISOString();
  const { schedule_id } = await post(w, "/schedules", {
    from_peer: "web",
    to_peer: "attacker",
    text: "later",
    fire_at: at,
  });
  w.daemon.ctx.db.transact((tx) => {
    tx.run("update messages set from_peer_id = :peer_id where correlation_id = :outbound", {
      peer_id,
      outbound,
    });
    tx.run("update schedules set from_peer_id = :peer_id", { peer_id });
  });
  const said = { from_peer: "victim", to_peer: "web", text: "Hi" };
  const acts: [path: string, body: Record<string, unknown>, method?: string][] = [
    ["/notify", said],
    ["/notify", { ...said, from_peer: peer_id }],
    ["/ask", said],
    ["/asks/many", { from_peer: "victim", to_peers: ["web"], text: "Hi" }],
    ["/broadcast", { from_peer: "victim", text: "Hi" }],
    ["/query", { ...said, timeout_seconds: 1 }],
    ["/questions/ask-blocking", { from_peer: "victim", prompt: "?", options: [], scope: "x" }],
    ["/schedules", { ...said, fire_at: at }],
    ["/subscriptions", { from_peer: "victim", condition: "peer:web offline" }],
    ["/handoffs", { from_peer: "victim", to_peer: "web" }],
    ["/jobs", { created_by: "victim", prompt: "x", assigned_peer: "web" }],
    ["/spawn", { from_peer: "victim", path: "/work", backend: "codex", message: "Hi" }],
    ["/ack", { correlation_id: inbound, message: "Yes", from_peer: "victim" }],
    ["/ack", { correlation_id: inbound }],
    ["/decline", { correlation_id: inbound, reason: "No" }],
    ["/answer", { correlation_id: inbound, text: "Yes" }],
    [`/asks/${inbound}/reply-all`, { text: "Yes" }],
    [`/asks/${outbound}/cancel`, { peer_id }],
    [`/asks/${outbound}/wait`, { peer_id, timeout_seconds: 0 }],
    [`/schedules/${schedule_id}`, { text: "changed" }, "PATCH"],
    [`/schedules/${schedule_id}`, {}, "DELETE"],
    ["/peers/victim/touch", {}],
    ["/peers/victim/description", { description: "x" }],
    ["/peers/victim/name", { name: "gone" }],
    ["/peers/victim/offline", {}],
    ["/peers/victim/turn", { turn_state: "idle" }],
    ["/peers/victim/role", { role: "orchestrator" }],
    ["/peers/victim", { tags: ["x"] }, "PATCH"],
    ["/peer/unregister", { peer_id }],
    ["/events/chat", { peer_id, role: "user", text: "Hi" }],
    ["/deliveries/pending?peer_id=victim", {}, "GET"],
  ];
  return acts;
}

async function send(w: World, path: string, body: unknown, method = "POST") {
  const init = method === "GET" ? {} : { method, body: JSON.stringify(body) };
  const response = await w.fetch(path, init);
  return { status: response.status, ...await response.json() };
}

/** The texts of all messages, and the state of what else an act could have changed. */
async function traces(w: World) {
  const { messages } = await get(w, "/messages");
  const { schedules } = await get(w, "/schedules");
  const peer = await get(w, "/peers/victim");
  return JSON.stringify([messages, schedules, peer.name, peer.status, peer.description, peer.tags]);
}

for (const [who, pid] of [["a peer", ATTACKER], ["a program in its shell", SHELL]] as const) {
  Deno.test(`${who} that acts in the name of another peer is refused on every route, and nothing is stored [c11.speak.another]`, async () => {
    await using at = await speakers();
    const { w, as, victim } = at;
    const acts = await actsOf(w, victim.peer_id);
    const before = await traces(w);
    as(pid);
    for (const [path, body, method] of acts) {
      const refused = await send(w, path, body, method);
      assert.deepEqual(
        [refused.status, refused.error, refused.peer],
        [403, "not_your_identity", "victim"],
        `${path} ${JSON.stringify(refused)}`,
      );
    }
    as(STRANGER);
    assert.equal(await traces(w), before);
  });
}

Deno.test("a peer's own process, and programs below it, act in its name [c11.speak.itself]", async () => {
  await using at = await speakers();
  const { w, as } = at;
  for (const pid of [VICTIM, CHILD]) {
    as(pid);
    const sent = await post(w, "/notify", { from_peer: "victim", to_peer: "web", text: "Hi" });
    const { unverified, voice } = await get(w, `/messages/${sent.delivery_id}`);
    assert.deepEqual([sent.status, unverified, voice], [200, false, "peer"]);
    assert.equal((await get(w, "/deliveries/pending?peer_id=victim")).status, 200);
  }
});

Deno.test("a child that is a peer itself does not act in the name of the peer that started it [c11.speak.child]", async () => {
  await using at = await speakers();
  const { w, as } = at;
  as(CHILD);
  await addPeer(w, "child", { agent_pid: CHILD });
  const said = { to_peer: "web", text: "Hi" };
  const refused = await post(w, "/notify", { ...said, from_peer: "victim" });
  assert.deepEqual([refused.status, refused.error], [403, "not_your_identity"]);
  assert.equal((await post(w, "/notify", { ...said, from_peer: "child" })).status, 200);
  as(VICTIM);
  assert.equal((await post(w, "/notify", { ...said, from_peer: "child" })).status, 403);
});

Deno.test("a certificate proves its peer, and no other, from any process [c11.speak.certificate]", async () => {
  await using at = await speakers();
  const { w, as, victim } = at;
  const headers = { "x-mesh-certificate": victim.birth_certificate ?? "" };
  for (const pid of [STRANGER, ATTACKER]) {
    as(pid);
    const said = { from_peer: "victim", to_peer: "web", text: "Hi" };
    const sent = await post(w, "/notify", said, headers);
    assert.equal((await get(w, `/messages/${sent.delivery_id}`)).unverified, false);
    const forged = await post(w, "/notify", said, { "x-mesh-certificate": "x" });
    assert.deepEqual([forged.status, forged.error], [409, "certificate_mismatch"]);
  }
  const other = await post(
    w,
    "/notify",
    { from_peer: "web", to_peer: "victim", text: "" },
    headers,
  );
  assert.equal(other.status, 422);
  const wrong = { from_peer: "web", to_peer: "victim", text: "Hi" };
  assert.equal((await post(w, "/notify", wrong, headers)).error, "not_your_identity");
});

Deno.test("a message in the name of a peer with a process is marked without a proof, and its sender leases no queue [c11.speak.unproved]", async () => {
  await using at = await speakers();
  const { w, victim } = at;
  const socket = await connectPeer(w, "reader", { capabilities: ["framed_text"] });
  const said = { from_peer: "victim", to_peer: "reader", text: "Hi" };
  const { delivery_id } = await post(w, "/notify", said);
  const { correlation_id } = await post(w, "/ask", said);
  assert.equal((await get(w, `/messages/${delivery_id}`)).unverified, true);
  assert.equal((await get(w, `/asks/${correlation_id}`)).unverified, true);
  const trace = await get(w, `/traces/${delivery_id}`);
  assert.equal(trace.unverified, true);
  assert.match(trace.stages[0].detail, /^unverified/);
  assert.equal(socket.of("notify")[0]?.voice, "unverified");
  assert.match(String(socket.of("notify")[0]?.framed), / from="@victim" .*unverified="true"/);
  const pending = await get(w, "/deliveries/pending?peer_id=victim");
  assert.deepEqual([pending.status, pending.error], [403, "not_your_identity"]);
  await post(w, "/notify", { from_peer: "web", to_peer: "victim", text: "For the victim" });
  const { deliveries } = await get(w, `/deliveries?peer_id=${victim.peer_id}`);
  const receipt = { delivery_ids: [deliveries[0].delivery_id], status: "seen" };
  assert.equal((await post(w, "/deliveries/receipts", receipt)).error, "not_your_identity");
});

Deno.test("an answer without a proof is marked, whether it names its author or not [c11.speak.unproved]", async () => {
  await using at = await speakers();
  const { w } = at;
  for (const from_peer of ["victim", undefined]) {
    const correlation_id = await ask(w, "web", "victim");
    await post(w, "/ack", { correlation_id, message: "Yes", from_peer });
    assert.equal((await get(w, `/asks/${correlation_id}`)).reply_voice, "unverified");
  }
});

Deno.test("a message that is sent later is marked if nothing proved who asked for it [c11.speak.unproved]", async () => {
  await using at = await speakers();
  const { w } = at;
  const said = { from_peer: "victim", to_peer: "web", text: "Later" };
  await post(w, "/schedules", { ...said, fire_at: new Date(w.clock.now() + 5000).toISOString() });
  await post(w, "/jobs", { created_by: "victim", prompt: "Later", assigned_peer: "web" });
  await connectPeer(w, "web");
  await w.tick(10);
  const { messages } = await get(w, "/messages?peer=victim");
  assert.equal(messages.length, 2);
  assert.ok(messages.every(({ unverified }: { unverified: boolean }) => unverified));
});

const LOOKALIKES = ["Victim", "v1ctim", "vic.tim", "VICTIM_", "-vict1m-"];

/** Every route on which a sender without a record may give its own name. */
const SENDING: [path: string, body: Record<string, unknown>][] = [
  ["/notify", { to_peer: "web" }],
  ["/ask", { to_peer: "web" }],
  ["/query", { to_peer: "web", timeout_seconds: 0 }],
  ["/asks/many", { to_peers: ["web"] }],
  ["/broadcast", {}],
  ["/questions/ask-blocking", { prompt: "Hi", options: [], scope: "x", timeout_seconds: 0 }],
  ["/schedules", { to_peer: "web", fire_at: "1s" }],
  ["/jobs", { prompt: "Hi", assigned_peer: "web" }],
];

Deno.test("a sender without a record whose name looks like that of a peer with a process is marked, on every route [c11.speak.lookalike]", async () => {
  await using at = await speakers({ "human.name": "sam" });
  const { w } = at;
  await connectPeer(w, "web");
  let sentBefore = 0;
  for (const [path, body] of SENDING) {
    const field = path === "/jobs" ? "created_by" : "from_peer";
    const sent = post(w, path, { text: "Hi", ...body, [field]: "Victim" });
    await w.clock.during(sent);
    assert.ok(!("detail" in await sent), `${path} ${JSON.stringify(await sent)}`);
    await w.tick(2);
    const { messages } = await get(w, "/messages");
    const author = path === "/jobs" ? "mesh" : "Victim"; // The daemon sends a job to its executor.
    const said = messages.filter(({ from_peer_name }: { from_peer_name: string }) =>
      from_peer_name === author
    );
    assert.ok(author === "mesh" ? said.length === 1 : said.length > sentBefore, path);
    assert.ok(said.every(({ unverified }: { unverified: boolean }) => unverified), path);
    sentBefore = said.length;
  }
});

Deno.test("a look-alike is known by its letters, and takes nothing from an honest sender [c11.speak.lookalike]", async () => {
  await using at = await speakers({ "human.name": "sam" });
  const { w } = at;
  const reader = await connectPeer(w, "reader", { capabilities: ["framed_text"] });
  const send = (from_peer: string, headers = {}) =>
    post(w, "/notify", { from_peer, to_peer: "reader", text: "Hi" }, headers);
  const isMarked = async (from_peer: string, headers = {}) => {
    const { delivery_id } = await send(from_peer, headers);
    const { unverified } = await get(w, `/messages/${delivery_id}`);
    assert.equal((await get(w, `/traces/${delivery_id}`)).unverified, unverified);
    return unverified;
  };
  for (const name of LOOKALIKES) {
    assert.equal(await isMarked(name), true, name);
    const frame = reader.of("notify").at(-1);
    assert.match(String(frame?.framed), new RegExp(` from="@${name}" .*unverified="true"`));
    assert.equal(frame?.voice, "unverified");
  }
  for (const name of ["ci", "victim-2", "victims", "Web", "w.e.b"]) {
    assert.equal(await isMarked(name), false, `${name}: of no peer that anything identifies`);
  }
  for (const name of ["v\u0456ctim", "vic\u200btim", "\uff36ictim"]) {
    assert.equal((await send(name)).status, 422, name);
  }
  assert.equal(await isMarked("Victim", await signIn(w)), false, "a person says so");
  await w.fetch("/peers/victim", { method: "DELETE" });
  assert.equal(await isMarked("Victim"), false, "the peer has left");
});

Deno.test("the caller is identified anew when a peer registers, leaves or ends, and when its program changes [c11.speak.child]", async () => {
  const user_facing = new Set<number>();
  await using at = await speakers({}, (pid) => user_facing.has(pid));
  const { w, as } = at;
  as(CHILD);
  const send = async (from_peer = "victim") => {
    const sent = await post(w, "/notify", { from_peer, to_peer: "web", text: "Hi" });
    if (sent.status !== 200) return sent.error;
    return (await get(w, `/messages/${sent.delivery_id}`)).unverified ? "marked" : "proved";
  };
  assert.deepEqual([await send(), await send()], ["proved", "proved"], "below the victim");
  await addPeer(w, "child", { agent_pid: CHILD });
  assert.deepEqual([await send(), await send()], Array(2).fill("not_your_identity"));
  user_facing.add(CHILD); // It has replaced its program by a terminal program (exec).
  assert.equal(await send(), "proved");
  user_facing.clear();
  assert.equal(await send(), "not_your_identity");
  await post(w, "/peer/unregister", { peer_id: (await get(w, "/peers/child")).peer_id });
  assert.equal(await send(), "proved", "it has left the mesh");
  await addPeer(w, "child", { agent_pid: CHILD });
  assert.equal(await send(), "not_your_identity", "it is back");
  await w.fetch("/peers/child", { method: "DELETE" });
  assert.equal(await send(), "marked", "it was retired, and speaks for nobody");
  w.processes.end(CHILD);
  w.processes.start(CHILD, VICTIM);
  assert.equal(await send(), "proved", "another process has its pid");
  w.processes.end(VICTIM);
  w.processes.start(VICTIM);
  assert.equal(await send(), "marked", "another process has the victim's pid");
});

Deno.test("peers without a process and senders without a record need no proof [c11.speak.clients]", async () => {
  await using at = await speakers();
  const { w, as } = at;
  for (const from_peer of ["web", "ci"]) {
    const sent = await post(w, "/notify", { from_peer, to_peer: "victim", text: "Hi" });
    assert.equal((await get(w, `/messages/${sent.delivery_id}`)).unverified, false, from_peer);
  }
  assert.equal((await get(w, "/deliveries/pending?peer_id=web")).status, 200);
  as(ATTACKER);
  const ci = await post(w, "/notify", { from_peer: "ci", to_peer: "victim", text: "Hi" });
  assert.equal((await get(w, `/messages/${ci.delivery_id}`)).unverified, true);
  assert.equal((await get(w, "/deliveries/pending?peer_id=web")).error, "not_your_identity");
});

Deno.test("a person's page acts in the name of any peer [c11.speak.person]", async () => {
  await using at = await speakers({ "human.name": "sam" });
  const { w, as } = at;
  const page = await signIn(w);
  const said = { from_peer: "victim", to_peer: "web", text: "Hi" };
  const reader = await connectPeer(w, "reader", { capabilities: ["framed_text"] });
  const sent = await post(w, "/notify", { ...said, to_peer: "reader" }, page);
  const { sent_by, unverified, voice } = await get(w, `/messages/${sent.delivery_id}`);
  assert.deepEqual([unverified, voice, sent_by], [false, "peer", "@sam"]);
  assert.match(String(reader.of("notify")[0]?.framed), / from="@victim" by="@sam" /);
  const correlation_id = await ask(w, "reader", "victim");
  await post(w, "/ack", { correlation_id, message: "Yes", from_peer: "victim" }, page);
  assert.equal(reader.of("ack")[0]?.sent_by, "@sam");
  as(ATTACKER);
  assert.equal((await post(w, "/notify", said, page)).status, 403, "an agent drives the browser");
});

Deno.test("an agent may close, restart, link and rehook a peer of any circle, but not in another's name", async () => {
  await using at = await speakers();
  const { w, as } = at;
  await addPeer(w, "far", { circle: "elsewhere" });
  as(ATTACKER);
  for (const path of ["restart", "rehook", "link", "kill"]) {
    const { error } = await post(w, `/peers/far/${path}`, {});
    assert.notEqual(error, "not_your_identity", path);
    const { error: forged } = await post(w, `/peers/far/${path}`, { from_peer: "victim" });
    assert.equal(forged === "not_your_identity", path === "restart", path);
  }
  assert.equal((await w.fetch("/peers/far", { method: "DELETE" })).status, 200);
});

Deno.test("an agent does not take over an offline client of /ws or a registration by its name [c11.speak.another]", async () => {
  await using at = await speakers();
  const { w, as } = at;
  const client = await connectPeer(w, "bot");
  const [connected] = client.of("connected");
  await client.drop();
  as(ATTACKER);
  const thief = await connectPeer(w, "bot");
  assert.notEqual(thief.of("connected")[0]?.peer_id, connected?.peer_id);
  await thief.drop();
  const claimed = await connectPeer(w, "bot", { peer_id: connected?.peer_id });
  assert.equal(claimed.closed?.code, 4003);
  const registered = await addPeer(w, "bot", { peer_id: undefined });
  assert.notEqual(registered.peer_id, connected?.peer_id);
  as(STRANGER);
  const back = await connectPeer(w, "bot");
  assert.equal(back.of("connected")[0]?.peer_id, connected?.peer_id);
});

Deno.test("a peer does not speak as another peer whose record names it as the parent", async () => {
  await using at = await speakers();
  const { w, as } = at;
  await addPeer(w, "remote", { runtime_session_id: "s-remote" });
  const { peer_id: parent_runtime_id } = await get(w, "/peers/attacker");
  const as_subagent = { parent_runtime_id, ephemeral: true, addressable: false };
  const said = [["web", { parent_runtime_id }], ["remote", as_subagent]] as const;
  for (const [name, provenance] of said) {
    as(ATTACKER);
    const set = await post(w, `/peers/${name}/provenance`, provenance);
    assert.deepEqual([set.status, set.error], [403, "not_your_identity"], name);
    as(STRANGER); // A program that has left the attacker's process tree.
    await post(w, `/peers/${name}/provenance`, provenance);
    as(ATTACKER);
    const sent = await post(w, "/notify", { from_peer: name, to_peer: "victim", text: "as it" });
    assert.deepEqual([sent.status, sent.error], [403, "not_your_identity"], name);
  }
});

Deno.test("a parent speaks for its subagent, and a peer with the parent's id as session does not", async () => {
  await using at = await speakers();
  const { w, as, victim } = at;
  const parent = { parent_runtime_id: victim.peer_id, ephemeral: true, addressable: false };
  as(VICTIM);
  await addPeer(w, "helper", { provenance: parent });
  as(ATTACKER);
  await addPeer(w, "thief", { agent_pid: ATTACKER, runtime_session_id: victim.peer_id });
  const message = { from_peer: "helper", to_peer: "web", text: "as it" };
  assert.equal((await post(w, "/notify", message)).error, "not_your_identity");
  as(VICTIM);
  assert.equal((await post(w, "/notify", message)).status, 200);
});

const NAMING_FIELDS = ["from_peer", "created_by", "peer_id", "pane_id", "asker", "by_peer"];

Deno.test("each route with a field that names a peer says whether that peer acts [c11.speak.routes]", async () => {
  await using w = world();
  const silent = w.daemon.routes.map(({ contract }) => contract).filter((contract) => {
    const { query } = contract;
    const parts = [contract.body, query === onePeer.query ? undefined : query];
    const names = parts.flatMap((schema) => Object.keys(fieldsOf(schema)));
    return contract.actor === undefined && names.some((name) => NAMING_FIELDS.includes(name));
  });
  assert.deepEqual(silent.map(({ id }) => id), []);
  const acting = w.daemon.routes.filter(({ contract: { actor } }) => actor && actor !== NO_ACTOR);
  assert.equal(acting.length, 41);
});

/** The fields of an object schema, also within a refinement or a preprocessing. */
function fieldsOf(schema: unknown): Record<string, unknown> {
  const { shape, def } = (schema ?? {}) as {
    shape?: Record<string, unknown>;
    def?: { in?: unknown; out?: unknown };
  };
  return shape ?? (def ? { ...fieldsOf(def.in), ...fieldsOf(def.out) } : {});
}

Deno.test("an agent's messages and answers as the human are marked, and it does nothing else in the human's name [c11.speak.another]", async () => {
  await using at = await speakers({ "human.name": "sam" });
  const { w, as } = at;
  as(VICTIM);
  const asked = await ask(w, "victim", "sam");
  as(SHELL);
  const sent = await post(w, "/notify", { from_peer: "sam", to_peer: "web", text: "Do it" });
  assert.equal((await get(w, `/messages/${sent.delivery_id}`)).voice, "unverified");
  await post(w, "/ack", { correlation_id: asked, message: "Yes", from_peer: "sam" });
  assert.equal((await get(w, `/asks/${asked}`)).reply_voice, "unverified");
  as(STRANGER);
  const opened = await ask(w, "sam", "victim");
  as(SHELL);
  const { peer_id } = await get(w, "/peers/sam");
  const refused = [
    await post(w, `/asks/${opened}/cancel`, { peer_id }),
    await post(w, `/asks/${opened}/wait`, { peer_id, timeout_seconds: 0 }),
    await post(w, "/peers/sam/description", { description: "x" }),
    await get(w, `/deliveries/pending?peer_id=${peer_id}`),
  ];
  assert.deepEqual(refused.map(({ error }) => error), Array(4).fill("not_your_identity"));
});

Deno.test("requests of another machine and of the relay's apps prove no process [c11.speak.unproved]", async () => {
  await using at = await speakers({ "human.name": "sam" });
  const { w } = at;
  for (const [human, unverified] of [[false, true], [true, false]] as const) {
    const body = JSON.stringify({ from_peer: "victim", to_peer: "web", text: "Hi" });
    const request = new Request(`${BASE}/notify`, { method: "POST", body });
    const { delivery_id } =
      await (await w.daemon.answerMachine(request, { daemon_id: "dm-1", human })).json();
    assert.equal((await get(w, `/messages/${delivery_id}`)).unverified, unverified);
  }
});

Deno.test("a peer that registers a terminal program does not keep the programs below it from speaking", async () => {
  await using at = await speakers();
  const { w, as } = at;
  w.processes.start(TERMINAL_PROGRAM_PID);
  w.processes.start(99, TERMINAL_PROGRAM_PID);
  as(TERMINAL_PROGRAM_PID);
  await addPeer(w, "greedy", { agent_pid: TERMINAL_PROGRAM_PID });
  as(99);
  const sent = await post(w, "/notify", { from_peer: "web", to_peer: "victim", text: "Hi" });
  assert.equal(sent.status, 200, JSON.stringify(sent));
});

Deno.test("the caller is not searched for while no agent's process runs [c11.speak.clients]", async () => {
  class CountedSockets extends FakeSockets {
    searches = 0;
    override readonly holderOf = () => {
      this.searches++;
      return this.holders?.[0];
    };
  }
  const sockets = new CountedSockets();
  await using w = world({ sockets });
  const searches = async () => {
    const before = sockets.searches;
    const said = { from_peer: "web", to_peer: "other", text: "Hi" };
    assert.equal((await post(w, "/notify", said)).status, 200);
    return sockets.searches - before;
  };
  await addPeer(w, "web");
  await addPeer(w, "other");
  assert.equal(await searches(), 0);
  w.processes.start(VICTIM);
  sockets.holders = [VICTIM];
  await addPeer(w, "victim", { agent_pid: VICTIM });
  sockets.holders = [STRANGER];
  assert.equal(await searches(), 1);
  w.processes.end(VICTIM);
  assert.equal(await searches(), 0);
});
