/** Payloads of hooks: every agent's own reader, on a daemon that holds messages for the session. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { randomIds, systemClock } from "kit/core/clock.ts";
import type { Hooks } from "../../../daemon/features/agents/adapter.ts";
import { AGENTS } from "../../../daemon/features/agents/registry.ts";
import { TmuxServers } from "../../../daemon/host/tmux/tmux.ts";
import { notify } from "../../support/daemon/peer_clients.ts";
import { silent } from "../../support/host/private_tmux.ts";
import { world } from "../../support/world.ts";
import { damagedRecord, fragment, hostileJson, hostileText } from "../hostile.ts";
import type { Count, OpenTarget, Target } from "../target.ts";

const FOLDER = new URL("../../golden/hooks/", import.meta.url);
const INPUTS = 200;
const HEADERS = [
  "x-mesh-pane",
  "x-mesh-tmux",
  "x-mesh-kitty",
  "x-mesh-hook-pid",
  "x-mesh-agent-pid",
];
const FIELDS = ["prompt", "tool_name", "tool_input", "last_assistant_message", "source", "model"];

export const HOOKS: Target = { name: "hooks", inputs: INPUTS, open: openHooks };

interface Sample {
  readonly agent: string;
  readonly payload: Record<string, unknown>;
}

function samples(): Sample[] {
  return [...Deno.readDirSync(FOLDER)].flatMap(({ name: agent }) =>
    [...Deno.readDirSync(new URL(`${agent}/`, FOLDER))].map(({ name }) => ({
      agent,
      payload: JSON.parse(Deno.readTextFileSync(new URL(`${agent}/${name}`, FOLDER))),
    }))
  );
}

/** The readers of all agents, whose own files are in an empty folder. */
async function loadHooks(home: string): Promise<Hooks> {
  const ctx = { clock: systemClock, log: silent };
  const tmuxServers = new TmuxServers({ ...ctx, ids: randomIds, state_dir: home, search_path: "" });
  const host = {
    ...ctx,
    terminalServers: tmuxServers,
    isAlive: () => false,
    hasTools: () => true,
    env: { HOME: home },
  };
  const runtimes = await Promise.all(AGENTS.map((agent) => agent.open(host)));
  return Object.fromEntries(
    runtimes.flatMap(({ adapter, hooks }) => hooks ? [[adapter.backend, hooks]] : []),
  );
}

async function openHooks(count: Count): Promise<OpenTarget> {
  const home = Deno.makeTempDirSync({ prefix: "mesh-fuzz-" });
  const settings = { "human.name": "sam", "approvals.gated_tools": "Bash" };
  const w = world({ hooks: await loadHooks(home), settings });
  let sent = 0;
  const property = fc.asyncProperty(hooksOf(samples()), async ({ agent, body, headers }) => {
    const init = { method: "POST", body, headers: Object.fromEntries(headers) };
    const pending = w.fetch(`/hooks/${agent}`, init);
    let done = false;
    const ended = pending.finally(() => done = true);
    await Promise.race([ended, w.clock.settle()]);
    while (!done) await Promise.race([ended, w.clock.advance(60_000)]);
    const response = await ended;
    const answer = await response.json();
    count(`POST /hooks/${agent} ${response.status}`);
    assert.ok([200, 400, 404, 413, 422].includes(response.status), JSON.stringify(answer));
    if (response.status !== 200) assert.ok(answer.detail.length > 0);
    assert.deepEqual(w.logged.filter((line) => line.includes('"level":"error"')), []);
    const { peers } = await (await w.fetch("/peers?live=true")).json();
    const peer = peers.findLast(({ role }: { role: string }) => role === "agent");
    if (peer && sent++ < INPUTS) await notify(w, "cli", peer.peer_id).catch(() => undefined);
  });
  return {
    property,
    async verify() {
      await w.tick(60);
      assert.equal((await w.fetch("/health")).status, 200);
      assert.deepEqual((await w.clock.during(w.daemon.deliveryAudit.audit())).unaccounted, []);
    },
    async [Symbol.asyncDispose]() {
      await w[Symbol.asyncDispose]();
      Deno.removeSync(home, { recursive: true });
    },
  };
}

/** Recorded payloads that were damaged, with headers that hooks send. */
function hooksOf(all: readonly Sample[]) {
  const value = fragment.map((text) => text.replaceAll(/[^\x20-\x7e]/g, "").trim());
  const headers = fc.array(fc.tuple(fc.constantFrom(...HEADERS), value), { maxLength: 2 });
  return fc.constantFrom(...all).chain(({ agent, payload }) => {
    const damaged = damagedRecord(payload, FIELDS).map((body) => JSON.stringify(body));
    const cut = damaged.chain((text) => fc.nat(text.length).map((length) => text.slice(0, length)));
    return fc.record({
      agent: fc.oneof(
        { weight: 9, arbitrary: fc.constant(agent) },
        { weight: 1, arbitrary: fc.constantFrom("generic", "opencode", "sdk", "nobody", "%00") },
      ),
      body: fc.oneof(
        { weight: 8, arbitrary: damaged },
        { weight: 1, arbitrary: cut },
        { weight: 1, arbitrary: hostileText },
        { weight: 1, arbitrary: hostileJson.map((json) => JSON.stringify(json)) },
      ),
      headers,
    });
  });
}
