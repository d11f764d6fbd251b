/** From the installation to two different agents that ask each other by their names. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { listPeers } from "protocol/peers/contract.ts";
import {
  InstalledPackage,
  isMissing,
  outputOf,
} from "../../support/packaging/installed_package.ts";
import { prepareCodex, stopCodexServer } from "../../support/e2e/agent_setups.ts";
import { Codex } from "../../support/e2e/codex_lab.ts";
import {
  binOf,
  claudeCode,
  codexCli,
  type InstallResult,
} from "../../support/e2e/installed_agents.ts";
import { inLongForm, Lab, type Preparation, withLab } from "../../support/e2e/lab.ts";
import { ANSWERS, ASKS } from "../../support/e2e/model_rules.ts";
import { inPane } from "../../support/e2e/programs.ts";
import { until } from "../../support/waiting.ts";

const RULES = [ASKS, ANSWERS];
const LIMIT_MS = 120_000;

/** The program of Codex. If Claude Code, Codex or npm is missing, the reason. */
function bothAgents(): InstallResult {
  const claude = claudeCode();
  if ("reason" in claude) return claude;
  return isMissing("npm") ? { reason: "npm is not installed" } : codexCli();
}

function installPackage(): Preparation {
  const installed = new InstalledPackage();
  const { program, began } = installed;
  const env = { MESH_PROGRAM: program, MESH_BEGAN: String(began) };
  return { env, [Symbol.dispose]: () => installed[Symbol.dispose]() };
}

inLongForm(withLab)(
  import.meta.url,
  "Claude Code and Codex, in two tmux sessions, ask each other within two minutes of the installation",
  async () => {
    const program = Deno.env.get("MESH_PROGRAM") ?? "";
    const options = { rules: RULES, bare: true, permissions: ["mcp__mesh"] };
    await using lab = new Lab({ ...options, projects: ["web", "api"] });
    const bin = binOf(codexCli);
    const { model, env: codexEnv } = prepareCodex(lab, bin, RULES);
    await using _model = model;
    const env = { ...lab.env, ...codexEnv, PATH: `${dirname(bin)}:${lab.env["PATH"]}` };
    const mesh = (...args: string[]) => outputOf(program, args, { env, clearEnv: true });
    try {
      assert.match(mesh("setup", "--yes", "--name", "sam"), /claude[^]*codex/i);
      assert.match(mesh("up"), /^Started/);
      const claude = await lab.claude("web");
      const codex = await startCodex(lab, env);
      await using _codex = { [Symbol.asyncDispose]: () => lab.killPane(codex.pane_id) };
      await until("both among the peers", async () => {
        const { peers } = await lab.mesh.call(listPeers, { query: {} });
        const names = peers.flatMap(({ name, status }) => status === "online" ? [name] : []);
        return ["web-claude-code", "api-codex"].every((name) => names.includes(name));
      });
      const hasAnswer = ({ requests }: typeof lab.model) =>
        requests.some(({ raw }) => raw.includes('outcome=\\"answered\\">Port 8080'));
      await claude.sendPrompt("Ask api-codex: Which port do you listen on?");
      await until("the answer at Claude Code", () => hasAnswer(lab.model));
      // The scripted model answers prompts only, and no message in the middle of a turn.
      await until("the end of its turn", () => claude.isIdle);
      await codex.sendPrompt("Ask web-claude-code: Which port do you want?");
      await until("the answer at Codex", () => hasAnswer(model.model));
      const elapsed = Date.now() - Number(Deno.env.get("MESH_BEGAN"));
      assert.ok(elapsed < LIMIT_MS, `${elapsed} ms`);
    } finally {
      mesh("down");
      await stopCodexServer(bin, env);
    }
  },
  bothAgents,
  installPackage,
);

/** Starts Codex in a tmux session of its own, trusts our hooks, and gives it a first turn. */
async function startCodex(lab: Lab, env: Record<string, string>): Promise<Codex> {
  const command = inPane(join(lab.dir, "api"), env, ["codex"]);
  const size = ["-d", "-x", "160", "-y", "50", "-P", "-F", "#{pane_id}"];
  const pane_id = lab.cli("new-session", "-s", "back", ...size, ...command);
  const codex = new Codex(lab, pane_id);
  await codex.start("api");
  await codex.firstTurn("api");
  return codex;
}
