/** Codex's rollouts: which session is resumed. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { randomIds, systemClock } from "kit/core/clock.ts";
import {
  codexAdapter,
  type CodexOptions,
} from "../../../../../daemon/features/agents/codex/codex.ts";
import { TmuxServers } from "../../../../../daemon/host/tmux/tmux.ts";
import { CodexHome, OTHER_THREAD, THREAD } from "../../../../support/agents/codex_server.ts";
import { silent } from "../../../../support/host/private_tmux.ts";

function adapterOf({ dir }: CodexHome, more: Partial<CodexOptions> = {}) {
  const ctx = { clock: systemClock, log: silent };
  const tmuxServers = new TmuxServers({ ...ctx, ids: randomIds, state_dir: dir, search_path: "" });
  return codexAdapter({ ...ctx, tmuxServers, codex_home: dir, env: {}, ...more });
}

// Resuming.

/** Writes a rollout as Codex does; the changes go into its first line. */
function rollout(home: CodexHome, id: string, payload: Record<string, unknown>, day = "21"): void {
  const dir = join(home.dir, "sessions", "2026", "11", day);
  Deno.mkdirSync(dir, { recursive: true });
  const instructions = { text: "word ".repeat(5_000) };
  const first = {
    type: "session_meta",
    payload: { id, base_instructions: instructions, ...payload },
  };
  const text = `${JSON.stringify(first)}\n${JSON.stringify({ type: "event_msg" })}\n`;
  Deno.writeTextFileSync(join(dir, `rollout-2026-11-${day}T10-13-38-${id}.jsonl`), text);
}

async function resume(home: CodexHome, runtime_session_id: string, path: string) {
  return await adapterOf(home).resume?.({ runtime_session_id, path });
}

Deno.test("a session is resumed once its rollout says that it is this one, in this folder", async () => {
  await using home = new CodexHome();
  rollout(home, THREAD, { cwd: "/w/api" });
  rollout(home, OTHER_THREAD, { cwd: "/w/api" }, "20");
  const ok = (id: string) => ({ ok: true, args: ["resume", id] });
  assert.deepEqual(await resume(home, THREAD, "/w/api"), ok(THREAD));
  assert.deepEqual(await resume(home, OTHER_THREAD, "/w/api"), ok(OTHER_THREAD));
  assert.deepEqual(await resume(home, THREAD, "/w/web"), { ok: false, reason: "other_path" });
});

Deno.test("what is not on the disk, or not what its name says, is not resumed", async () => {
  await using home = new CodexHome();
  const no = (reason: string) => ({ ok: false, reason });
  assert.deepEqual(await resume(home, THREAD, "/w"), no("no_rollout"));
  assert.deepEqual(await resume(home, "../../etc/passwd", "/w"), no("not_a_thread"));
  assert.deepEqual(await resume(home, "--last", "/w"), no("not_a_thread"));
  rollout(home, THREAD, { cwd: "/w", id: OTHER_THREAD });
  assert.deepEqual(await resume(home, THREAD, "/w"), no("rollout_of_another"));
  rollout(home, THREAD, { cwd: 7 });
  assert.deepEqual(await resume(home, THREAD, "/w"), no("rollout_damaged"));
});
