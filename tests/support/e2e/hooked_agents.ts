/** Agents of two vendors whose hooks report, without their programs. */

import assert from "node:assert/strict";
import type { TestRepository } from "../repositories/repository.ts";

/** The session ids of the agents. */
const SESSIONS = {
  codex: "019c2a60-0000-7000-8000-000000000001",
  "claude-code": "11111111-2222-4333-8444-555555555555",
} as const;
type Vendor = keyof typeof SESSIONS;

/** Posts JSON to the daemon; fails unless it succeeds. */
export async function post(url: string, path: string, body: object, headers = {}) {
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    body: JSON.stringify(body),
    headers,
  });
  const answer = await response.json();
  assert.equal(response.status, 200, JSON.stringify(answer));
  return answer;
}

/** The agents api of Codex and web of Claude Code in a repository. */
export async function agentsIn(folder: string, url: string) {
  const register = (name: string, backend: Vendor) =>
    post(url, "/peers", {
      name,
      backend,
      circle: "main",
      path: folder,
      runtime_session_id: SESSIONS[backend],
    });
  const hook = (backend: Vendor, event: string, more: object) =>
    post(url, `/hooks/${backend}`, {
      session_id: SESSIONS[backend],
      cwd: folder,
      hook_event_name: event,
      ...more,
    });
  const api = await register("api", "codex");
  const web = await register("web", "claude-code");
  return { api, web, hook };
}

/** The agent web commits everything, and its hook reports that. */
export async function commit(
  repo: TestRepository,
  hook: Awaited<ReturnType<typeof agentsIn>>["hook"],
): Promise<void> {
  repo.git("add", "-A");
  const stdout = repo.git("commit", "-m", "Add a");
  await hook("claude-code", "PostToolUse", {
    tool_name: "Bash",
    tool_input: { command: "git add -A && git commit -m 'Add a'" },
    tool_response: { stdout, stderr: "", interrupted: false },
  });
}
