/** The status line of Claude Code: its script, what setup adds, and what it leaves alone. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { claudeCode } from "../../../../../daemon/features/agents/claude_code/agent.ts";
import {
  planUse,
  removeOldPlanUse,
} from "../../../../../daemon/features/agents/claude_code/plan_use.ts";
import {
  keptStatusLine,
  statusLine,
  statusLineScript,
} from "../../../../../daemon/features/agents/claude_code/status_line.ts";
import { SETUP_AGENTS, setUpAgent } from "../../../../../cli/setup/agents.ts";

const SESSION = "b1ebc8c5-5f96-4703-8cbd-a43644ff4036";
const RESET_S = 1_795_907_565;
/** As Claude Code 2.1.329 gives it with the login of a plan, after the first answer. */
const STATUS = {
  session_id: SESSION,
  cwd: "/work",
  version: "2.1.329",
  context_window: { current_usage: { input_tokens: 100 }, used_percentage: 0 },
  rate_limits: {
    five_hour: { used_percentage: 83, resets_at: RESET_S },
    seven_day: { used_percentage: 42.5, resets_at: RESET_S + 300_000 },
  },
};

/** A state directory with the script. */
class State implements Disposable {
  readonly path = Deno.makeTempDirSync({ prefix: "mesh-line-" });
  readonly folder = join(this.path, "plan-use");
  readonly #script = join(this.path, "script");

  constructor() {
    Deno.writeTextFileSync(this.#script, statusLineScript());
  }

  /** Runs the script with a status on standard input; returns its output. */
  async run(status: unknown, ...command: string[]): Promise<string> {
    const args = ["-p", this.#script, ...command];
    const env = { MESH_STATE: this.path };
    const child = new Deno.Command("bash", { args, env, stdin: "piped", stdout: "piped" }).spawn();
    const input = child.stdin.getWriter();
    await input.write(new TextEncoder().encode(JSON.stringify(status)));
    await input.close();
    const { code, stdout } = await child.output();
    assert.equal(code, 0);
    return new TextDecoder().decode(stdout);
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

Deno.test("the status line keeps the used windows of its session, and prints nothing", async () => {
  using state = new State();
  const before = Date.now();
  assert.equal(await state.run(STATUS), "");
  const found = planUse(state.folder, SESSION);
  assert.deepEqual(found.map(({ at: _, ...facts }) => facts), [
    { window: "five_hour", used_percent: 83, resets_at: RESET_S * 1000 },
    { window: "seven_day", used_percent: 42.5, resets_at: (RESET_S + 300_000) * 1000 },
  ]);
  assert((found[0]?.at ?? 0) >= before - 1_000);
  assert.deepEqual(planUse(state.folder, "another"), []);
});

Deno.test("the user's own command gets the whole status, and its output is the status line", async () => {
  using state = new State();
  assert.equal(await state.run(STATUS, "cat"), JSON.stringify(STATUS));
  assert.equal(planUse(state.folder, SESSION).length, 2);
});

Deno.test("a status without limits, or with a text that looks like them, keeps nothing", async () => {
  using state = new State();
  const { rate_limits, ...without } = STATUS;
  await state.run(without);
  const text = `{"rate_limits":${JSON.stringify(rate_limits)}}`;
  await state.run({ ...without, session_name: text });
  await state.run({ ...STATUS, session_id: "../../escaped" });
  assert.deepEqual(planUse(state.folder, SESSION), []);
  assert.deepEqual([...Deno.readDirSync(state.path)].map(({ name }) => name), ["script"]);
});

Deno.test("a file that is no record of limits shows nothing, and an old one is removed", async () => {
  using state = new State();
  await state.run(STATUS);
  const path = join(state.folder, `${SESSION}.json`);
  removeOldPlanUse(state.folder, Date.now() + 7 * 86_400_000);
  assert.equal(planUse(state.folder, SESSION).length, 2);
  Deno.writeTextFileSync(path, '{"five_hour":{"used_perc');
  assert.deepEqual(planUse(state.folder, SESSION), []);
  removeOldPlanUse(state.folder, Date.now() + 9 * 86_400_000);
  assert.deepEqual([...Deno.readDirSync(state.folder)], []);
});

Deno.test("setup leaves a status line of the user, and adds one only on request", () => {
  const script = "/state/hooks/claude-code.status-line";
  const users = { statusLine: { type: "command", command: "~/line.sh" } };
  const asked = statusLine({ script, wanted: true });
  assert.deepEqual(asked.install(users), users);
  assert.deepEqual(statusLine({ script, wanted: false }).install({}), {});
  const added = { statusLine: { type: "command", command: `bash -p ${script}` } };
  assert.deepEqual(asked.install({}), added);
  assert.match(keptStatusLine(users, script) ?? "", /which stays; .* bash -p \/state/);
  assert.equal(keptStatusLine(added, script), undefined);
});

Deno.test("uninstalling takes the script out of a command, and leaves the user's part", () => {
  const script = "/my state/hooks/claude-code.status-line";
  const line = statusLine({ script: "/new/hooks/claude-code.status-line", wanted: false });
  const withScript = (command: string) => ({ statusLine: { type: "command", command } });
  const both = withScript(`bash -p '${script}' ~/line.sh --short`);
  assert.deepEqual(line.remove(both), withScript("~/line.sh --short"));
  assert.deepEqual(line.remove(withScript(`bash -p '${script}'`)), {});
  const moved = withScript("bash -p /new/hooks/claude-code.status-line ~/line.sh --short");
  assert.deepEqual(line.install(both), moved);
});

Deno.test("mesh setup --status-line adds the script with the setting, and uninstalling removes both", async () => {
  const home = Deno.makeTempDirSync({ prefix: "mesh-line-home-" });
  try {
    Deno.mkdirSync(join(home, ".claude"));
    const env = { HOME: home, PATH: Deno.env.get("PATH") ?? "" };
    const claude = SETUP_AGENTS.find(({ id }) => id === claudeCode.id);
    assert(claude);
    const settings = join(home, ".claude/settings.json");
    const script = join(home, ".local/state/mesh/hooks/claude-code.status-line");
    const read = () => JSON.parse(Deno.readTextFileSync(settings));
    const run = (options: { status_line?: boolean; uninstall?: boolean }) => {
      const more = { dry_run: false, mesh: ["/opt/mesh"], replace: false, uninstall: false };
      return setUpAgent(claude, { ...more, ...options }, env);
    };
    await run({});
    assert.equal(read().statusLine, undefined);
    await run({ status_line: true });
    assert.equal(read().statusLine.command, `bash -p ${script}`);
    assert.equal(Deno.readTextFileSync(script), statusLineScript());
    await run({});
    assert.equal(read().statusLine.command, `bash -p ${script}`, "a later setup keeps it");
    await run({ uninstall: true });
    assert.throws(() => Deno.statSync(script), Deno.errors.NotFound);
    assert.throws(() => Deno.statSync(settings), Deno.errors.NotFound);
    Deno.writeTextFileSync(settings, '{"statusLine":{"type":"command","command":"mine"}}');
    const { warnings } = await run({ status_line: true });
    assert(warnings.some((text) => text.includes("a status line of its own")), warnings.join());
    assert.equal(read().statusLine.command, "mine");
  } finally {
    Deno.removeSync(home, { recursive: true });
  }
});
