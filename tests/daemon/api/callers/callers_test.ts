/** Access of other users of the machine, of browsers with and without a cookie, and of agents. */

import assert from "node:assert/strict";
import * as z from "zod";
import { claudeCodeHooks } from "../../../../daemon/features/agents/hooks/claude_format.ts";
import { PAGE_MS, PAGES_MAX, TICKET_MS } from "../../../../daemon/api/pages/pages.ts";
import {
  BASE,
  FakeSockets,
  LOOPBACK,
  OTHER_UID,
  TERMINAL_PROGRAM_PID,
  type World,
  world,
} from "../../../support/world.ts";
import { addPeer, post, signIn } from "../../../support/daemon/peer_clients.ts";

const TOKEN = "a token of 16 letters";
const PAGE = { "sec-fetch-site": "same-origin", origin: BASE };
const NAVIGATION = {
  "sec-fetch-site": "none",
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
};
const DIGEST = z.object({ digest: z.string() });
const FAR: Deno.NetAddr = { transport: "tcp", hostname: "192.0.2.7", port: 50_000 };

async function status(w: World, path: string, headers = {}, remote: Deno.NetAddr = LOOPBACK) {
  const answer = await w.daemon.fetch(new Request(`${BASE}${path}`, { headers }), remote);
  await answer.body?.cancel();
  return answer.status;
}

/** Opens the dashboard as a person does; returns the cookie that it sets, if any. */
async function issueCookie(w: World, headers: Record<string, string> = NAVIGATION) {
  const answer = await w.fetch("/dashboard", { headers });
  assert.equal(answer.status, 200);
  return answer.headers.get("set-cookie")?.split(";")[0];
}

for (
  const [name, settings] of [["a token", { "daemon.auth_token": TOKEN }], ["no token", {}]] as const
) {
  Deno.test(`with ${name} configured, another user of the machine gets only /health and /status`, async () => {
    const sockets = new FakeSockets();
    await using w = world({ sockets, settings });
    const own = await signIn(w);
    for (const uid of [OTHER_UID, undefined]) {
      sockets.uid = uid;
      const answered: string[] = [];
      for (const { contract } of w.daemon.routes) {
        const path = contract.path.replaceAll(/:\w+/g, "x");
        // Hook routes check a token of their own.
        if (contract.path.startsWith("/hooks/")) continue;
        for (const headers of [{}, PAGE, own, NAVIGATION]) {
          const init = { method: contract.method, headers };
          const answer = await w.fetch(path, init);
          await answer.body?.cancel();
          if (answer.status !== 401 && answer.status !== 403) answered.push(path);
        }
      }
      assert.deepEqual([...new Set(answered)].sort(), ["/health", "/status"], String(uid));
    }
  });
}

Deno.test("a hook's request without a token is refused before its body is read", async () => {
  const sockets = new FakeSockets();
  sockets.uid = OTHER_UID;
  await using w = world({ sockets, hooks: { "claude-code": claudeCodeHooks } });
  for (const path of ["/hooks/claude-code", "/hooks/claude-code/wait"]) {
    let asked_for = 0;
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode("{"));
        if (++asked_for > 8) controller.close();
      },
    }, { highWaterMark: 0 });
    assert.equal((await w.fetch(path, { method: "POST", body })).status, 401);
    assert.equal(asked_for, 0, path);
  }
});

Deno.test("root may call like the daemon's own user", async () => {
  const sockets = new FakeSockets();
  await using w = world({ sockets });
  sockets.uid = 0;
  assert.equal(await status(w, "/peers"), 200);
});

Deno.test("another user who sends the token is admitted", async () => {
  const sockets = new FakeSockets();
  await using w = world({ sockets, settings: { "daemon.auth_token": TOKEN } });
  sockets.uid = OTHER_UID;
  assert.equal(await status(w, "/peers", { authorization: `Bearer ${TOKEN}` }), 200);
});

Deno.test("where the platform reports no socket owners, the token keeps other users out", async () => {
  const sockets = new FakeSockets();
  sockets.canIdentify = false;
  sockets.uid = undefined;
  await using w = world({ sockets });
  assert.equal(await status(w, "/peers"), 200);
  await using closed = world({ sockets, settings: { "daemon.auth_token": TOKEN } });
  assert.equal(await status(closed, "/peers"), 401);
  assert.equal(
    await issueCookie(closed),
    undefined,
    "only a ticket gives a cookie on such a platform",
  );
});

Deno.test("a page's headers do not replace the token; its cookie does, on this machine only", async () => {
  await using w = world({ settings: { "daemon.auth_token": TOKEN } });
  const cookie = await issueCookie(w) ?? "";
  assert.match(cookie, /^mesh_page=./);
  for (const page of [{ "sec-fetch-site": "same-origin" }, { origin: BASE }]) {
    assert.equal(await status(w, "/peers", page), 401);
    assert.equal(await status(w, "/peers", { ...page, cookie }), 200);
    assert.equal(await status(w, "/peers", { ...page, cookie: `${cookie}x` }), 401);
    assert.equal(await status(w, "/peers", { ...page, cookie }, FAR), 401);
    for (const path of ["/metrics", "/mcp"]) {
      assert.equal(await status(w, path, { ...page, cookie }), 401, path);
    }
  }
  assert.equal(await status(w, "/peers", { cookie }), 401, "our pages do not send this");
  assert.equal(await status(w, "/peers", { cookie, "sec-fetch-site": "none" }), 401);
  const dashboardRequest = new Request(`${BASE}/peers`, { headers: { ...PAGE, cookie } });
  assert.equal((await w.daemon.fetch(dashboardRequest)).status, 401, "the request has no socket");
});

Deno.test("a configured host name is not loopback, and its pages need the token", async () => {
  const settings = { "daemon.auth_token": TOKEN, "daemon.allowed_hosts": "[mesh.test]" };
  await using w = world({ settings });
  const cookie = await issueCookie(w) ?? "";
  const page = { host: "mesh.test", "sec-fetch-site": "same-origin", cookie };
  assert.equal(await status(w, "/peers", page), 401);
});

Deno.test("only a navigation of our own user to the dashboard gets a cookie, and only one", async () => {
  const sockets = new FakeSockets();
  await using w = world({ sockets });
  const cookie = await issueCookie(w) ?? "";
  assert.equal(
    await issueCookie(w, { ...NAVIGATION, "sec-fetch-site": "same-origin", cookie }),
    undefined,
  );
  for (
    const other of [
      {},
      { "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" },
      { ...NAVIGATION, "sec-fetch-dest": "iframe" },
      { ...NAVIGATION, "sec-fetch-site": "cross-site" },
    ]
  ) {
    const answer = await w.fetch("/dashboard", { headers: other });
    assert.equal(answer.headers.get("set-cookie"), null, JSON.stringify(other));
  }
  sockets.uid = OTHER_UID;
  const foreign = await w.fetch("/dashboard", { headers: NAVIGATION });
  assert.deepEqual([foreign.status, foreign.headers.get("set-cookie")], [401, null]);
});

Deno.test("the cookie is hidden from scripts and other sites, and only its digest is stored", async () => {
  await using w = world();
  const answer = await w.fetch("/dashboard", { headers: NAVIGATION });
  const set = answer.headers.get("set-cookie") ?? "";
  assert.match(set, /; HttpOnly; SameSite=Strict; Max-Age=2592000$/);
  const value = /mesh_page=([^;]+)/.exec(set)?.[1] ?? "";
  const kept = w.daemon.ctx.db.all(DIGEST, "select digest from page_sessions");
  assert.ok(value.length >= 43 && kept.length === 1 && kept[0]?.digest !== value);
});

Deno.test("a page opened without a ticket is not the human, and says so", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "bob");
  const page = { ...PAGE, cookie: await issueCookie(w) ?? "" };
  assert.deepEqual(await (await w.fetch("/dashboard/session", { headers: page })).json(), {
    human: false,
    human_name: "sam",
  });
  const { delivery_id } = await post(w, "/notify", message("sam"), page);
  assert.equal(voice(w, delivery_id), "unverified");
});

Deno.test("a page opened with a ticket is the human", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "bob");
  const page = await signIn(w);
  const session = await (await w.fetch("/dashboard/session", { headers: page })).json();
  assert.deepEqual(session, { human: true, human_name: "sam" });
  const { delivery_id } = await post(w, "/notify", message("sam"), page);
  assert.equal(voice(w, delivery_id), "human");
});

Deno.test("a page's headers alone, or a forged cookie, are not the human", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "bob");
  for (
    const page of [PAGE, { ...PAGE, cookie: "mesh_page=" }, { ...PAGE, cookie: "mesh_page=x" }]
  ) {
    const { delivery_id } = await post(w, "/notify", message("sam"), page);
    assert.equal(voice(w, delivery_id), "unverified", JSON.stringify(page));
  }
});

Deno.test("an agent that has a person's cookie is not the human", async () => {
  const sockets = new FakeSockets();
  sockets.holders = [];
  await using w = world({ sockets, settings: { "human.name": "sam" } });
  w.processes.start(7);
  await addPeer(w, "bob", { agent_pid: 7 });
  const page = await signIn(w);
  sockets.holders = [7];
  const { delivery_id } = await post(w, "/notify", message("sam"), page);
  assert.equal(voice(w, delivery_id), "unverified");
  const { ticket } = w.daemon.pages.ticket();
  const redeemed = await post(w, "/dashboard/session", { ticket }, PAGE);
  assert.deepEqual([redeemed.status, redeemed.error], [403, "ticket_refused"]);
});

Deno.test("an agent with more children than usual checks cover is still an agent", async () => {
  /** The socket is held by the 600th process below the agent. */
  class Crowd extends FakeSockets {
    override readonly holderWithin: FakeSockets["holderWithin"] = (pid, _end, max = 512) =>
      max >= 600 ? pid : undefined;
  }
  await using w = world({ sockets: new Crowd(), settings: { "human.name": "sam" } });
  const page = await signIn(w);
  w.processes.start(7);
  await addPeer(w, "bob", { agent_pid: 7 });
  const { delivery_id } = await post(w, "/notify", message("sam"), page);
  assert.equal(voice(w, delivery_id), "unverified");
});

Deno.test("a process that was proved to be an agent's counts as one until it ends", async () => {
  const sockets = new FakeSockets();
  await using w = world({ sockets, settings: { "human.name": "sam" } });
  const page = await signIn(w);
  for (const pid of [7, 8]) w.processes.start(pid);
  await addPeer(w, "bob");
  await addPeer(w, "ada", { agent_pid: 7, runtime_session_id: "s-1" });
  sockets.holders = [7];
  const verdictOf = async () =>
    voice(w, (await post(w, "/notify", message("sam"), page)).delivery_id);
  await post(w, "/peers/ada/offline");
  assert.equal(await verdictOf(), "unverified", "it went offline");
  sockets.holders = undefined;
  await addPeer(w, "ada", { agent_pid: 8, runtime_session_id: "s-1" });
  sockets.holders = [7];
  assert.equal(await verdictOf(), "unverified", "it named another process");
  w.processes.end(7);
  assert.equal(await verdictOf(), "human", "the process has ended");
});

Deno.test("registering a person's terminal or the daemon's ancestors locks nobody out", async () => {
  const sockets = new FakeSockets();
  await using w = world({ sockets, settings: { "human.name": "sam" } });
  const page = await signIn(w);
  await addPeer(w, "bob");
  w.processes.start(1);
  w.processes.start(TERMINAL_PROGRAM_PID);
  sockets.holders = [];
  await addPeer(w, "seat", { agent_pid: TERMINAL_PROGRAM_PID });
  sockets.holders = undefined;
  await addPeer(w, "first", { agent_pid: 1 });
  await addPeer(w, "emulator", { agent_pid: TERMINAL_PROGRAM_PID });
  await post(w, "/peers/emulator/offline");
  const { delivery_id } = await post(w, "/notify", message("sam"), page);
  assert.equal(voice(w, delivery_id), "human");
});

Deno.test("a ticket is valid once, for a minute", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const redeem = async (ticket: string) =>
    (await post(w, "/dashboard/session", { ticket }, PAGE)).status;
  const { ticket } = w.daemon.pages.ticket();
  assert.deepEqual([await redeem(ticket), await redeem(ticket)], [200, 403]);
  const late = w.daemon.pages.ticket();
  await w.clock.advance(TICKET_MS);
  assert.deepEqual([await redeem(late.ticket), await redeem("made up")], [403, 403]);
});

Deno.test("only a person gets a ticket", async () => {
  const terminal = { "x-mesh-terminal": "7" };
  await using w = world({ settings: { "human.name": "sam" } });
  const refused = await post(w, "/dashboard/tickets", {}, terminal);
  assert.deepEqual([refused.status, refused.error], [403, "human_not_proven"]);
  await using at = world({ settings: { "human.name": "sam" }, at_terminal: true });
  const { status, ticket } = await post(at, "/dashboard/tickets", {}, terminal);
  assert.deepEqual([status, typeof ticket], [200, "string"]);
  assert.equal((await post(at, "/dashboard/tickets")).status, 403, "it names no terminal");
  await using nobody = world({ at_terminal: true });
  assert.equal((await post(nobody, "/dashboard/tickets", {}, terminal)).error, "no_human");
});

Deno.test("a cookie survives a restart, and expires after 30 days", async () => {
  const dir = Deno.makeTempDirSync();
  const options = { db_path: `${dir}/mesh.db`, settings: { "human.name": "sam" } };
  let headers: Record<string, string> = {};
  {
    await using w = world(options);
    headers = await signIn(w);
  }
  {
    await using w = world(options);
    assert.equal((await (await w.fetch("/dashboard/session", { headers })).json()).human, true);
    await w.clock.advance(PAGE_MS + 1);
    assert.equal((await (await w.fetch("/dashboard/session", { headers })).json()).human, false);
  }
  Deno.removeSync(dir, { recursive: true });
});

Deno.test("the number of remembered browsers is limited, and those of people are removed last", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const headers = await signIn(w);
  for (let visits = 0; visits <= PAGES_MAX; visits++) await issueCookie(w);
  assert.equal(
    w.daemon.ctx.db.all(DIGEST, "select digest from page_sessions").length,
    PAGES_MAX,
  );
  assert.equal((await (await w.fetch("/dashboard/session", { headers })).json()).human, true);
});

Deno.test("a terminal is the human's only if its process holds the socket", async () => {
  const sockets = new FakeSockets();
  await using w = world({ sockets, at_terminal: true, settings: { "human.name": "sam" } });
  await addPeer(w, "bob");
  const send = async (terminal: string) =>
    voice(
      w,
      (await post(w, "/notify", message("sam"), { "x-mesh-terminal": terminal })).delivery_id,
    );
  sockets.holders = [7];
  assert.deepEqual([await send("7"), await send("8")], ["human", "unverified"]);
  for (const odd of ["-7", "0", "7.5", "x", "", "1e400"]) {
    assert.equal(await send(odd), "unverified");
  }
});

const message = (from_peer: string) => ({ from_peer, to_peer: "bob", text: "Stop" });

function voice(w: World, delivery_id: string) {
  return w.daemon.delivery.findMessage(delivery_id)?.voice;
}
