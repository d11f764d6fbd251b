/** Hooks that outlive their agent, or end before the daemon proves them, make no second peer. */

import assert from "node:assert/strict";
import { claudeCodeHooks } from "../../../../../daemon/features/agents/hooks/claude_format.ts";
import { codexHooks } from "../../../../../daemon/features/agents/codex/hooks.ts";
import { geminiHooks } from "../../../../../daemon/features/agents/gemini/hooks.ts";
import { get, post } from "../../../../support/daemon/peer_clients.ts";
import { FakeSockets, TERMINAL_PROGRAM_PID, world } from "../../../../support/world.ts";

const [INIT, AGENT, HOOK] = [1, 41, 42];
const HOOKS = {
  "claude-code": claudeCodeHooks,
  gemini: geminiHooks,
  codex: codexHooks(() => undefined),
};
const EVENTS: Readonly<Record<string, Record<string, unknown>>> = {
  SessionStart: { source: "resume" },
  UserPromptSubmit: { prompt: "Go on" },
  Stop: { stop_hook_active: false, last_assistant_message: "Done" },
  StopFailure: { error: "overloaded" },
  Notification: { notification_type: "auth_success" },
  SessionEnd: { reason: "other" },
};
const WITHOUT_END = Object.keys(EVENTS).filter((event) => event !== "SessionEnd");

/** A world with an agent, of which a hook is running. */
function agentWorld() {
  const sockets = new FakeSockets();
  let onPane = () => {};
  const w = world({
    sockets,
    hooks: HOOKS,
    paneOf: () => {
      onPane();
      return Promise.resolve(undefined);
    },
  });
  w.processes.start(INIT);
  w.processes.start(AGENT, INIT);
  w.processes.start(HOOK, AGENT);
  sockets.holders = [HOOK, AGENT, INIT];
  return {
    w,
    sockets,
    async hook(
      event: string,
      { backend = "claude-code", agent = AGENT, hook_pid = HOOK, isGone = false } = {},
    ) {
      const body = { session_id: "s-1", cwd: "/work", hook_event_name: event, ...EVENTS[event] };
      const pids = { "x-mesh-agent-pid": String(agent), "x-mesh-hook-pid": String(hook_pid) };
      const pane = { "x-mesh-pane": "%3", "x-mesh-tmux": "/tmp/tmux-0/default,1,0" };
      const { uid, holders } = sockets;
      if (isGone) Object.assign(sockets, { uid: undefined, holders: [] });
      const token = { authorization: `Bearer ${w.daemon.identity.hook_token}` };
      const { status } = await post(w, `/hooks/${backend}`, body, { ...pids, ...pane, ...token });
      assert.equal(status, 200);
      Object.assign(sockets, { uid, holders });
    },
    /** The hook's parent is another process from now on. */
    adoptHook(parent: number) {
      w.processes.start(HOOK, parent);
      sockets.holders = [HOOK, parent];
    },
    /** Called while the daemon asks the terminal for the hook's pane. */
    atPane(act: () => void) {
      onPane = act;
    },
    async peers() {
      const { peers } = await get(w, "/peers");
      return peers.map(({ name, status, agent_pid, turn_state }: Record<string, unknown>) => {
        return { name, status, agent_pid, turn_state };
      });
    },
    [Symbol.asyncDispose]: () => w[Symbol.asyncDispose](),
  };
}

const REGISTERED = { name: "work-claude-code", status: "online", agent_pid: AGENT };

Deno.test("a hook that is orphaned while its agent still exits makes no second peer", async () => {
  for (const event of Object.keys(EVENTS)) {
    await using at = agentWorld();
    await at.hook("SessionStart");
    at.adoptHook(INIT);
    await at.hook(event);
    assert.deepEqual(await at.peers(), [{ ...REGISTERED, turn_state: "idle" }], event);
    at.w.processes.end(AGENT);
    await at.w.tick();
    const [peer, ...others] = await at.peers();
    assert.deepEqual([peer.status, others], ["offline", []], event);
  }
});

Deno.test("a hook that ends before its process is proved makes no second peer", async () => {
  for (const event of WITHOUT_END) {
    await using at = agentWorld();
    await at.hook("SessionStart");
    await at.hook(event, { isGone: true });
    assert.deepEqual(await at.peers(), [{ ...REGISTERED, turn_state: "idle" }], event);
  }
});

Deno.test("a first hook that ends before its process is proved leaves the session to the next", async () => {
  await using at = agentWorld();
  await at.hook("SessionStart", { isGone: true });
  assert.deepEqual(await at.peers(), []);
  await at.hook("UserPromptSubmit");
  assert.deepEqual(await at.peers(), [{ ...REGISTERED, status: "busy", turn_state: "working" }]);
});

Deno.test("a first hook that ends early registers nobody, whichever agent it names", async () => {
  for (const backend of Object.keys(HOOKS)) {
    await using at = agentWorld();
    await at.hook("SessionStart", { backend, isGone: true });
    assert.deepEqual(await at.peers(), [], backend);
  }
});

Deno.test("two hooks of one start, of which one ends early, make one peer in either order", async () => {
  for (const early of [true, false]) {
    await using at = agentWorld();
    for (const isGone of [early, !early]) {
      await at.hook("SessionStart", { isGone });
    }
    assert.deepEqual(await at.peers(), [{ ...REGISTERED, turn_state: "idle" }], String(early));
  }
});

Deno.test("the first hook of an agent that has ended registers nobody", async () => {
  for (const event of WITHOUT_END) {
    await using at = agentWorld();
    at.w.processes.end(AGENT);
    at.adoptHook(INIT);
    await at.hook(event);
    assert.deepEqual(await at.peers(), [], event);
  }
});

Deno.test("an agent that ends after its hook was proved is not registered", async () => {
  await using at = agentWorld();
  at.atPane(() => at.w.processes.end(AGENT));
  await at.hook("SessionStart");
  assert.deepEqual(await at.peers(), []);
});

Deno.test("a late hook of a session does not bring its peer back", async () => {
  for (const event of WITHOUT_END) {
    await using at = agentWorld();
    await at.hook("SessionStart");
    at.w.processes.end(AGENT);
    await at.w.tick();
    at.adoptHook(INIT);
    await at.hook(event);
    const [peer, ...others] = await at.peers();
    assert.deepEqual([peer.status, others], ["offline", []], event);
  }
});

Deno.test("a resumed agent that ends while its hook is read does not come online", async () => {
  await using at = agentWorld();
  await at.hook("SessionStart");
  at.w.processes.end(AGENT);
  await at.w.tick();
  at.w.processes.start(43, INIT);
  at.adoptHook(43);
  at.atPane(() => at.w.processes.end(43));
  await at.hook("SessionStart", { agent: 43 });
  const [peer, ...others] = await at.peers();
  assert.deepEqual([peer.status, others], ["offline", []]);
});

Deno.test("an init that adopted a hook is not registered as the hook's agent", async () => {
  for (const init of [INIT, TERMINAL_PROGRAM_PID]) {
    await using at = agentWorld();
    at.w.processes.end(AGENT);
    at.w.processes.start(init);
    at.adoptHook(init);
    await at.hook("SessionStart", { backend: "gemini", agent: init });
    assert.deepEqual(await at.peers(), [], String(init));
  }
});

Deno.test("an agent that the kernel cannot see from here is still registered by its hooks", async () => {
  await using at = agentWorld();
  at.sockets.holders = [666];
  await at.hook("SessionStart", { agent: 7, hook_pid: 8 }); // Its numbers in a container.
  assert.deepEqual(await at.peers(), [{ ...REGISTERED, agent_pid: null, turn_state: "idle" }]);
});
