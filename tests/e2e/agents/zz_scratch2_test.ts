import { listInbox } from "../../../daemon/features/inbox/contract.ts";
import { getAsk } from "../../../daemon/features/asks/contract.ts";
import { codexCli } from "../../support/e2e/installed_agents.ts";
import { CodexLab } from "../../support/e2e/codex_lab.ts";
import { withLab } from "../../support/e2e/lab.ts";
import { until } from "../../support/waiting.ts";
const log = (...a: unknown[]) => Deno.writeTextFileSync("/tmp/L-scratch2.log", a.map(String).join(" ") + "\n", { append: true });
const pause = (ms: number) => new Promise((r) => setTimeout(r, ms));
function tr(dir: string): string {
  let out = "";
  const walk = (d: string) => { for (const e of Deno.readDirSync(d)) { const p = d + "/" + e.name; if (e.isDirectory) walk(p); else if (p.endsWith(".jsonl") && p.includes("rollout")) out += p + "\n" + Deno.readTextFileSync(p); } };
  walk(dir + "/home"); return out;
}
withLab(import.meta.url, "scratch codex", async () => {
  await using lab = new CodexLab([], ["api"]);
  await lab.open({ human: { name: "sam" }, approvals: { gated_tools: ["*"], timeout_seconds: 60 } });
  const codex = await lab.startCodex("api");
  const escalated = { sandbox_permissions: "require_escalated", justification: "may I" };
  const call = { cmd: `touch ${lab.dir}/made`, ...escalated };
  await codex.sendPrompt(`@@TOOL exec_command ${JSON.stringify(call)}`);
  const item = await until("q", async () => (await lab.call(listInbox, { query: { unread: "1" } })).items[0]);
  await pause(1500);
  log(codex.screen); log(JSON.stringify(item.question)); log(tr(lab.dir).slice(-6000));
  const mark = tr(lab.dir).length;
  const t0 = Date.now();
  codex.press("Escape");
  for (let i = 0; i < 30; i++) { const a = await lab.call(getAsk, { params: { id: item.correlation_id ?? "" } }); log(Date.now() - t0, a.state, a.close_reason, a.outcome); if (a.state === "closed") break; await pause(100); }
  await pause(1000);
  log(codex.screen); log(tr(lab.dir).slice(mark));
}, codexCli);
