/** A peer in a kitty window, as the daemon sees it: from its hook to its last refused message. */

import assert from "node:assert/strict";
import { randomIds, systemClock } from "kit/core/clock.ts";
import { loadAgents } from "../../../../daemon/app/platform.ts";
import { addPeer, get, post } from "../../../support/daemon/peer_clients.ts";
import { answerOf, FakeKitty, kittyWindow } from "../../../support/host/fake_kitty.ts";
import { silent } from "../../../support/host/private_tmux.ts";
import { world } from "../../../support/world.ts";

/** A daemon with the machine's real terminals, and a kitty at which a test looks. */
function withKittyDaemon(
  name: string,
  test: (f: { w: ReturnType<typeof world>; kitty: FakeKitty }) => Promise<void>,
): void {
  Deno.test(name, async () => {
    await using kitty = new FakeKitty();
    const ctx = { clock: systemClock, ids: randomIds, log: silent };
    const env = { PATH: "/none", HOME: kitty.dir, TMUX_TMPDIR: kitty.dir };
    await using platform = await loadAgents({ ...ctx, state: `${kitty.dir}/state`, env });
    await using w = world({
      adapters: platform.adapters,
      hooks: platform.hooks,
      paneObserver: platform.paneObserver,
      terminals: platform.terminals,
      paneOf: (socket, pane_id) => platform.paneOf(socket, pane_id),
    });
    await test({ w, kitty });
  });
}

/** Posts the hook of a Gemini CLI session that begins. */
function beginSession(w: ReturnType<typeof world>, tmux_socket: string, pane = "3") {
  const hook = { session_id: "s1", hook_event_name: "SessionStart", source: "startup", cwd: "/" };
  return post(w, "/hooks/gemini", hook, {
    "x-mesh-pane": pane,
    "x-mesh-kitty": tmux_socket,
    authorization: `Bearer ${w.daemon.identity.hook_token}`,
  });
}

withKittyDaemon("a hook in a kitty window registers the window", async ({ w, kitty }) => {
  assert.equal((await beginSession(w, kitty.address)).status, 200);
  const { peers } = await get(w, "/peers");
  assert.partialDeepStrictEqual(peers, [{
    terminal: "kitty",
    tmux_socket: kitty.address,
    pane_id: "3",
    tmux_session: null,
    circle: "default",
    transport: "pane",
  }]);
});

withKittyDaemon("a hook's claim of an untrusted kitty, or of no window, is dropped", async (f) => {
  const { w, kitty } = f;
  for (const pane of ["%3", "0", "x"]) await beginSession(w, kitty.address, pane);
  await beginSession(w, kitty.socket);
  Deno.chmodSync(kitty.dir, 0o777);
  await beginSession(w, kitty.address);
  const { peers } = await get(w, "/peers");
  assert.deepEqual(
    peers.map((peer: Record<string, unknown>) => [peer["pane_id"], peer["tmux_socket"]]),
    [[null, null]],
  );
  assert.deepEqual(kitty.received, []);
  const place = { pane_id: "3", tmux_socket: kitty.address };
  const registered = await post(w, "/peers", {
    name: "a",
    path: "/",
    backend: "generic",
    ...place,
  });
  assert.partialDeepStrictEqual(registered, { status: 422, error: "invalid_request" });
});

withKittyDaemon(
  "an agent in a kitty window is found and examined",
  async ({ w, kitty }) => {
    kitty.answer = (order) => {
      const isThere = order.do === "read" && (order.window === null || order.window === 3);
      return answerOf({ windows: isThere ? [kittyWindow()] : [] });
    };
    const body = { backend: "generic", tmux_socket: kitty.address };
    const missing = await post(w, "/panes/4/link", body);
    assert.partialDeepStrictEqual(missing, { status: 404, error: "unknown_pane" });
    await addPeer(w, "api", { backend: "generic", pane_id: "3", tmux_socket: kitty.address });
    const { panes } = await get(w, "/panes/orphans");
    assert.deepEqual(panes, []);
    const { checks } = await get(w, "/peers/api/doctor");
    const pane = checks.find(({ name }: { name: string }) => name === "pane");
    assert.deepEqual([pane.source, pane.ok], ["kitty", true]);
    assert.match(pane.detail, /^3: /);
    kitty.close();
    const report = await get(w, "/peers/api/doctor");
    const transport = report.checks.find(({ name }: { name: string }) => name === "transport pane");
    assert.match(transport.detail, /^kitty_unreachable/);
  },
);
