/** Codex's adapter for a test's Codex folder. */

import { randomIds, systemClock } from "kit/core/clock.ts";
import { codexAdapter, type CodexOptions } from "../../../daemon/features/agents/codex/codex.ts";
import { TmuxServers } from "../../../daemon/host/tmux/tmux.ts";
import { silent } from "../host/private_tmux.ts";
import type { CodexHome } from "./codex_server.ts";

export function adapterOf({ dir }: CodexHome, more: Partial<CodexOptions> = {}) {
  const ctx = { clock: systemClock, log: silent };
  const tmuxServers = new TmuxServers({ ...ctx, ids: randomIds, state_dir: dir, search_path: "" });
  return codexAdapter({
    ...ctx,
    terminalServers: tmuxServers,
    codex_home: dir,
    env: {},
    ...more,
  });
}
