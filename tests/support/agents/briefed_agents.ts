/** An agent with hooks that loses its context, for tests of briefings. */

import { openAsk } from "protocol/asks/contract.ts";
import { claudeCodeHooks } from "../../../daemon/features/agents/hooks/claude_format.ts";
import { codexHooks } from "../../../daemon/features/agents/codex/hooks.ts";
import { copilotHooks } from "../../../daemon/features/agents/copilot/hooks.ts";
import { geminiHooks } from "../../../daemon/features/agents/gemini/hooks.ts";
import { world, type WorldOptions } from "../world.ts";
import { connectPeer, peerOfSession, post } from "../daemon/peer_clients.ts";

const HOOKS = {
  "claude-code": claudeCodeHooks,
  codex: codexHooks(() => undefined),
  copilot: copilotHooks,
  gemini: geminiHooks,
};

/** A mesh with the peers `ada` and an agent, whose session has started. */
export async function meshWithAgent(
  backend: keyof typeof HOOKS = "claude-code",
  { cwd = "/work/api", ...options }: WorldOptions & { readonly cwd?: string } = {},
) {
  const w = world({ ...options, hooks: HOOKS });
  await connectPeer(w, "ada");
  const report = (event: string, fields: Record<string, unknown> = {}) => {
    const names = backend === "copilot"
      ? { hookName: event, sessionId: "s-1" }
      : { hook_event_name: event, session_id: "s-1" };
    return post(w, `/hooks/${backend}`, { ...names, cwd, ...fields });
  };
  const isCopilot = backend === "copilot";
  await report(isCopilot ? "sessionStart" : "SessionStart", { source: "startup" });
  const name = peerOfSession(w, "s-1")?.name ?? "";
  return { w, name, report, [Symbol.asyncDispose]: () => w[Symbol.asyncDispose]() };
}

export type BriefedMesh = Awaited<ReturnType<typeof meshWithAgent>>;

export function contextOf(answer: Record<string, unknown>): string {
  const { hookSpecificOutput, additionalContext } = answer as {
    hookSpecificOutput?: { additionalContext?: string };
    additionalContext?: string;
  };
  return hookSpecificOutput?.additionalContext ?? additionalContext ?? "";
}

export async function starts({ report }: BriefedMesh, source: string): Promise<string> {
  return contextOf(await report("SessionStart", { source }));
}

export async function prompts({ report }: BriefedMesh, prompt = "Go on"): Promise<string> {
  return contextOf(await report("UserPromptSubmit", { prompt }));
}

/** Asks the agent, whose next prompt hands the ask over; the turn ends without an answer. */
export async function owe(
  mesh: BriefedMesh,
  text: string,
  from = "ada",
  more: { readonly prove?: string[] } = {},
): Promise<string> {
  const body = { from_peer: from, to_peer: mesh.name, text, bypass_circle: true, ...more };
  const { correlation_id } = await mesh.w.call(openAsk, { body });
  await prompts(mesh);
  await mesh.report("Stop", { stop_hook_active: true });
  return correlation_id ?? "";
}
