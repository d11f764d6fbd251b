/**
 * Real agents: Claude Code renames a function that Codex calls, in two work trees. Their branches
 * merge, fail together, and are settled by the two.
 */

import assert from "node:assert/strict";
import { getAsk } from "protocol/asks/contract.ts";
import { codexCli } from "../../../support/e2e/installed_agents.ts";
import { inLongForm, withLab } from "../../../support/e2e/lab.ts";
import { jsonAtTerminal } from "../../../support/e2e/person_terminal.ts";
import { TwoAgents } from "../../../support/e2e/two_agents.ts";
import { until } from "../../../support/waiting.ts";

/** Two passes of joint checks begin within this time of each other. */
const PASS_MS_MAX = 120_000;

const RENAME = "sed -i s/total/add/ lib.sh lib_test.sh && git commit -qam 'Rename total'";
const CALL = `printf 'source ./lib.sh\\n[ "$(total 2 2)" = 4 ]\\n' > call_test.sh`;
/** Passes before and after the rename. */
const REPAIR = "sed -i 's/total 2 2/add 2 2 || total 2 2/' call_test.sh";

const CLAUDE_RULES = [
  { match: /Rename it/, steps: [{ tool: "Bash", args: { command: RENAME } }, { say: "Renamed" }] },
  {
    match: /<peer-message type="ask" id="(ask-[0-9a-f]+)"/,
    steps: [
      { tool: "ack", args: { correlation_id: "$1", message: "The name add stays" } },
      { say: "Answered" },
    ],
  },
];
const CODEX_RULES = [
  { match: /Call it/, steps: [{ tool: "exec_command", args: { cmd: CALL } }, { say: "Called" }] },
  {
    match: /<peer-message type="ask" id="(ask-[0-9a-f]+)"/,
    steps: [
      { tool: "ask", args: { peer: "web", message: "Which name stays?" } },
      { tool: "exec_command", args: { cmd: REPAIR } },
      { tool: "ack", args: { correlation_id: "$1", message: "I call add now" } },
      { say: "Settled" },
    ],
  },
];

const FILES = {
  "lib.sh": "total() { echo $(($1 + $2)); }\n",
  "lib_test.sh": 'source ./lib.sh\n[ "$(total 1 2)" = 3 ]\n',
};

const CONFIG = {
  jobs: {
    checks: { tests: { argv: ["bash", "-c", "for t in *_test.sh; do bash $t || exit 1; done"] } },
  },
};

class JointFixture extends TwoAgents {
  constructor() {
    super({ claude: CLAUDE_RULES, codex: CODEX_RULES, files: FILES });
  }

  /** Kills the daemon and starts it with joint checks: the first pass begins at once. */
  async switchOn(): Promise<void> {
    await this.lab.mesh.crash();
    await this.startDaemon({ MESH_JOINT_CHECKS__CHECK: "tests" });
  }

  /** `mesh landing` at the person's terminal: a peer without a session of its own sees nothing. */
  async pair() {
    const { repositories } = await jsonAtTerminal(this.lab, ["landing"]);
    return repositories[0]?.pairs[0];
  }
}

inLongForm(withLab)(
  import.meta.url,
  "Claude Code and Codex settle branches that merge cleanly and fail together",
  async () => {
    await using fixture = new JointFixture();
    const { lab, codex } = fixture;
    await fixture.up(CONFIG);
    await fixture.work("web", "Rename it");
    await fixture.work("api", "Call it");
    await fixture.switchOn();
    const id = await until("the ask to Codex", async () => {
      return (await fixture.pair())?.correlation_id;
    }, PASS_MS_MAX);
    const asked = await until("the ask at its model", () => {
      return codex.model.model.asked(`id="${id}"`)[0]?.prompt;
    });
    for (const part of ["@web", "lib.sh", "-total()", "+add()", "total 2 2", "not found"]) {
      assert(asked.includes(part), `${part} in ${asked}`);
    }
    const { reply } = await until("its answer", async () => {
      const ask = await fixture.call(getAsk, { params: { id } });
      return ask.state === "closed" && ask;
    });
    assert.equal(reply, "I call add now");
    await until("the information of Claude Code", () => {
      return lab.model.asked("@api is asked to settle this with you").length > 0;
    });
    await until("the answer of Claude Code", () => {
      return codex.model.model.asked("The name add stays").length > 0;
    });
    const pair = await until("a pass that is green", async () => {
      const found = await fixture.pair();
      return found?.result === "passed" && found;
    }, PASS_MS_MAX);
    assert.equal(pair.correlation_id, null, "the report is settled");
    const asks = codex.model.model.asked('<peer-message type="ask"');
    assert.equal(new Set(asks.map(({ prompt }) => prompt)).size, 1, "it was asked once");
  },
  codexCli,
);
