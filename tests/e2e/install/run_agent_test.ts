/** `mesh run`: from an empty home with one agent to its first answer in two commands. */

import assert from "node:assert/strict";
import { dirname } from "node:path";
import { readTextOrNothing } from "../../../daemon/host/paths.ts";
import { codexConfig } from "../../../daemon/features/agents/codex/fixture.ts";
import { copilotConfig } from "../../../daemon/features/agents/copilot/fixture.ts";
import { GEMINI_SETTINGS } from "../../../daemon/features/agents/gemini/fixture.ts";
import type { ScriptedReply } from "../../../daemon/features/agents/selftest/fixture.ts";
import type { AgentUnderTest } from "../../support/e2e/agent_harness.ts";
import {
  prepareCodex,
  prepareCopilot,
  prepareGemini,
  prepareOpencode,
  stopCodexServer,
} from "../../support/e2e/agent_setups.ts";
import {
  binOf,
  claudeCode,
  codexCli,
  copilotCli,
  geminiCli,
  type InstallResult,
  opencodeCli,
} from "../../support/e2e/installed_agents.ts";
import { inLongForm, Lab, withLab } from "../../support/e2e/lab.ts";
import { ANSWERS } from "../../support/e2e/model_rules.ts";
import { meshArguments } from "../../support/programs/program.ts";
import { until } from "../../support/waiting.ts";

const FOLDER = "home/api";
const ANSWER_MS_MAX = 60_000;
const ANSWER_POLL_MS = 500;

/** A person at a shell in a folder whose agents were used before, but never with mesh. */
class Person implements AsyncDisposable {
  readonly lab: Lab;
  readonly env: Record<string, string>;

  constructor(lab: Lab, agents: readonly AgentUnderTest[] = []) {
    this.lab = lab;
    const path = [...agents.map(({ bin }) => dirname(bin)), lab.env["PATH"]].join(":");
    const variables = Object.assign({}, ...agents.map(({ env }) => env));
    // A daemon that is started in a pane starts agents in that pane's server.
    const TMUX = `${lab.tmux_socket},1,0`;
    this.env = { ...lab.env, ...variables, PATH: path, TMUX };
  }

  async mesh(...args: string[]): Promise<string> {
    const { success, text } = await this.#run(args);
    assert.ok(success, `${args.join(" ")}\n${text}`);
    return text;
  }

  async refused(...args: string[]): Promise<string> {
    const { success, text } = await this.#run(args);
    assert.ok(!success, `${args.join(" ")}\n${text}`);
    return text;
  }

  async #run(args: readonly string[]): Promise<{ success: boolean; text: string }> {
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: meshArguments(args),
      env: this.env,
      clearEnv: true,
      cwd: `${this.lab.dir}/${FOLDER}`,
      stdin: "null",
    }).output();
    const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    return { success, text };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.mesh("down");
  }
}

withLab(
  import.meta.url,
  "two commands connect a Claude Code, start it, and bring its first answer",
  async () => {
    await using lab = new Lab({ rules: [ANSWERS], bare: true, projects: [FOLDER] });
    await using person = new Person(lab);
    const started = await person.mesh("run", "claude", "--detach", "--yes", "--tag", "backend");
    assert.match(started, /~\/\.claude\/settings\.json/);
    assert.match(started, /Started the daemon/);
    assert.match(started, /^claude {2}starts in tmux \S+ %\d+$/m);
    assert.match(started, /Ask it: mesh ask claude "…" --wait/);
    assert.match(await person.mesh("ask", "claude", "Which port?", "--wait"), /Port 8080/);
    assert.match(await person.mesh("tag", "claude"), /backend/);
    const again = await person.mesh("run", "claude", "--detach");
    assert.doesNotMatch(again, /settings\.json|Started the daemon/);
    assert.match(again, /^claude-2 {2}starts/m);
    const added = await person.refused("run", "claude", "--detach", "--", "--verbose");
    assert.match(added, /Only a person may add arguments .*\n.*--profile NAME/);
    const profile = await person.refused("run", "claude", "--detach", "--profile", "quick");
    assert.match(profile, /quick/);
    assert.equal(readTextOrNothing(`${lab.env["MESH_STATE"]}/hook.log`), undefined);
  },
  claudeCode,
);

type Prepare = (lab: Lab, bin: string, rules: readonly ScriptedReply[]) => AgentUnderTest;

/** Without a model of its user's, Gemini CLI chooses one for each prompt by another model. */
const prepareGeminiWithModel: Prepare = (lab, bin, rules) => {
  const gemini = prepareGemini(lab, bin, rules);
  const settings = { ...GEMINI_SETTINGS, model: { name: "gemini-2.5-flash" } };
  lab.write("home/.gemini/settings.json", settings);
  return gemini;
};

const OTHERS: Readonly<Record<string, readonly [() => InstallResult, Prepare]>> = {
  gemini: [geminiCli, prepareGeminiWithModel],
  opencode: [opencodeCli, prepareOpencode],
  copilot: [copilotCli, (lab, bin, rules) => {
    const copilot = prepareCopilot(lab, bin, rules);
    lab.write("home/.copilot/config.json", copilotConfig([`${lab.dir}/${FOLDER}`]));
    return copilot;
  }],
};

for (const [name, [agent, prepare]] of Object.entries(OTHERS)) {
  inLongForm(withLab)(
    import.meta.url,
    `two commands bring the first answer of ${name}`,
    async () => {
      await using lab = new Lab({ bare: true, projects: [FOLDER] });
      const agentUnderTest = prepare(lab, binOf(agent), [ANSWERS]);
      await using _model = agentUnderTest.model;
      await using person = new Person(lab, [agentUnderTest]);
      await person.mesh("run", name, "--detach", "--yes");
      assert.match(await person.mesh("ask", name, "Which port?", "--wait"), /Port 8080/);
    },
    agent,
  );
}

inLongForm(withLab)(
  import.meta.url,
  "the first answer of codex comes once its user trusts its hooks, for which it waits in lists",
  async () => {
    await using lab = new Lab({ bare: true, projects: [FOLDER] });
    const codex = prepareCodex(lab, binOf(codexCli), [ANSWERS]);
    await using _model = codex.model;
    const config = codexConfig(codex.model.url, [`${lab.dir}/${FOLDER}`]);
    Deno.writeTextFileSync(`${lab.dir}/home/.codex/config.toml`, config);
    await using person = new Person(lab, [codex]);
    try {
      const started = await person.mesh("run", "codex", "--detach", "--yes");
      assert.match(started, /at "Hooks need review" choose to trust them/);
      const pane = /starts in tmux \S+ (%\d+)/.exec(started)?.[1] ?? "";
      const asking = person.mesh("ask", "codex", "Which port?", "--wait");
      const isShown = async () => /awaiting input/.test(await person.mesh("peers"));
      await until("the question about hooks", isShown, ANSWER_MS_MAX, ANSWER_POLL_MS);
      for (const key of ["2", "Enter"]) lab.cli("send-keys", "-t", pane, key);
      assert.match(await asking, /Port 8080/);
    } finally {
      await stopCodexServer(codex.bin, person.env);
    }
  },
  codexCli,
);

/** Asks the peer that a message names. */
const ASKS_ON: ScriptedReply = {
  match: /Ask (claude|gemini): ([^<\n]+)/,
  steps: [{ tool: "ask", args: { peer: "$1", message: "$2" } }, { say: "Asked: ${result}" }],
};

withLab(
  import.meta.url,
  "agents of two vendors ask each other after one command for each",
  async () => {
    await using lab = new Lab({ rules: [ANSWERS, ASKS_ON], bare: true, projects: [FOLDER] });
    const gemini = prepareGeminiWithModel(lab, binOf(geminiCli), [ANSWERS, ASKS_ON]);
    await using _model = gemini.model;
    await using person = new Person(lab, [gemini]);
    await person.mesh("run", "claude", "--detach", "--yes");
    await person.mesh("run", "gemini", "--detach", "--yes");
    for (const [asker, recipient] of [["claude", "gemini"], ["gemini", "claude"]] as const) {
      const question = `Which port does ${recipient} use?`;
      await person.mesh("notify", asker, `Ask ${recipient}: ${question}`);
      await until(
        `the answer of ${recipient}`,
        async () => {
          const { messages } = JSON.parse(await person.mesh("search", "--json", "--kind", "ask"));
          return messages.some((message: Readonly<Record<string, unknown>>) =>
            message["reply"] === "Port 8080" && message["from_peer_name"] === asker &&
            message["to_peer_name"] === recipient
          );
        },
        ANSWER_MS_MAX,
        ANSWER_POLL_MS,
      );
    }
  },
  geminiCli,
);
