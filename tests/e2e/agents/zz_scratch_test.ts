import { listInbox } from "../../../daemon/features/inbox/contract.ts";
import { Lab, withLab } from "../../support/e2e/lab.ts";
import { until } from "../../support/waiting.ts";
const CONFIG = { human: { name: "sam" }, approvals: { gated_tools: ["*"], timeout_seconds: 60 } };
function tr(dir: string): string[] {
  const out: string[] = [];
  const walk = (d: string) => { for (const e of Deno.readDirSync(d)) { const p = d + "/" + e.name; if (e.isDirectory) walk(p); else if (p.endsWith(".jsonl")) out.push(p + "\n" + Deno.readTextFileSync(p)); } };
  walk(dir + "/home/.claude/projects"); return out;
}
const log = (...a: unknown[]) => Deno.writeTextFileSync("/tmp/L-scratch.log", a.map(String).join(" ") + "\n", { append: true });
const pause = (ms: number) => new Promise((r) => setTimeout(r, ms));
async function go(prompt: (dir: string) => string, keys: string[][], name: string) {
  await using lab = new Lab({ bare: true });
  await lab.mesh.setUp({ config: CONFIG });
  await lab.mesh.up();
  const claude = await lab.claude("api");
  log("=====", name);
  await claude.sendPrompt(prompt(lab.dir));
  await until("q", async () => (await lab.mesh.call(listInbox, { query: { unread: "1" } })).items.length > 0);
  await pause(1500);
  log("registry", JSON.stringify(claude.session));
  for (const t of tr(lab.dir)) log(t);
  log(claude.screen);
  for (const k of keys) {
    const mark = tr(lab.dir).join("\n").length;
    log("--- keys", k.join(" "));
    claude.keys(...k);
    let before = "";
    for (let i = 0; i < 25; i++) { const s = String(claude.session?.status) + " " + claude.session?.waitingFor; if (s !== before) log(i * 100, "status", before = s); await pause(100); }
    log(claude.screen);
    log("new lines", tr(lab.dir).join("\n").slice(mark));
    const { items } = await lab.mesh.call(listInbox, { query: {} });
    log("items", JSON.stringify(items.map(({ text, read, replied }) => ({ text, read, replied }))));
  }
}
const W = (d: string) => `@@TOOL Write {"file_path":"${d}/api/made.txt","content":"x"}`;
withLab(import.meta.url, "scratch one", () => go(W, [["Enter"]], "allow"));
withLab(import.meta.url, "scratch two", () => go(W, [["Escape"]], "escape"));
withLab(import.meta.url, "scratch three", () => go((d) => `@@TOOL AskUserQuestion {"questions":[{"question":"Which?","header":"H","multiSelect":false,"options":[{"label":"A","description":"a"},{"label":"B","description":"b"}]}]}`, [["Enter"]], "question"));
withLab(import.meta.url, "scratch four", () => go((d) => W(d) + "\n" + W(d).replace("made", "made2"), [["Enter"], ["Enter"]], "two"));
