/** Permission requests of a Claude Code whose hook waits for the human. */

import { listInbox } from "protocol/inbox.ts";
import { until } from "../waiting.ts";
import type { DashboardLab } from "./dashboard_lab.ts";

/** The settings with which each tool is gated. */
export const GATED = {
  MESH_APPROVALS__GATED_TOOLS: "*",
  MESH_APPROVALS__TIMEOUT_SECONDS: "300",
};

/** Runs the hook of a permission dialog: the ask's id, the peer, and the hook's answer. */
export async function askPermission(
  lab: DashboardLab,
  tool_name: string,
  tool_input: unknown,
  cwd = "/work/api",
) {
  const known = new Set((await lab.call(listInbox, { query: {} })).items.map(idOf));
  const answer = fetch(`${lab.daemon.base}/hooks/claude-code`, {
    method: "POST",
    headers: { authorization: `Bearer ${Deno.readTextFileSync(`${lab.state}/hook.token`).trim()}` },
    body: JSON.stringify({
      session_id: "s-1",
      cwd,
      hook_event_name: "PermissionRequest",
      tool_name,
      tool_input,
    }),
  }).then(async (response) => (await response.json()).hookSpecificOutput?.decision);
  const item = await until("the question", async () => {
    const { items } = await lab.call(listInbox, { query: {} });
    return items.find((item) => !known.has(idOf(item)));
  });
  return { id: idOf(item), peer_id: item.from_peer_id ?? "", answer };
}

const idOf = ({ correlation_id }: { correlation_id: string | null }) => correlation_id ?? "";
