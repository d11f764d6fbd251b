/** Runs all scenarios with one agent and reports each result; always cleans up. */

import { dirname } from "kit/core/path.ts";
import type { Clock } from "kit/core/clock.ts";
import { messageOf } from "kit/core/text.ts";
import { fileRefusal } from "kit/host/file_errors.ts";
import { ApiError } from "kit/http/client.ts";
import { Args } from "../../cli/command/command.ts";
import { runSetup } from "../../cli/setup/setup_command.ts";
import type { Env } from "../../daemon/host/paths.ts";
import { CommandError } from "../../cli/client/failures.ts";
import { isUnreachable } from "../../cli/client/daemon_client.ts";
import { createModel, type Subject } from "./agents.ts";
import { TestHarness } from "./harness.ts";
import type { Scenario } from "./scenarios.ts";
import { AgentDriver } from "./agent_driver.ts";
import { FAILED, type Result } from "./verdicts.ts";

interface TestOptions {
  readonly env: Env;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly version: string;
  readonly scenarios: readonly Scenario[];
  onResult(result: Result): void;
  /** Called if a process or file of the test could not be ended or removed. It is no result. */
  onLeftBehind(error: unknown): void;
}

/** Tests one agent and returns all its results. */
export async function testAgent(
  subject: Subject,
  options: TestOptions,
): Promise<readonly Result[]> {
  const { version } = options;
  const results: Result[] = [];
  const onResult = (result: Omit<Result, "agent" | "version">) => {
    const fullResult = { agent: subject.agent.id, version, ...result };
    results.push(fullResult);
    options.onResult(fullResult);
  };
  const harness = new TestHarness(options.env, options);
  const model = createModel(subject.fixture, harness.forbidden);
  try {
    const driver = new AgentDriver(subject, harness, model);
    await startAgent(driver, harness);
    for (const scenario of options.scenarios) {
      if (!(await scenario.applies?.(driver) ?? true)) continue;
      onResult({ scenario: scenario.name, ...await runScenario(scenario, driver, options.signal) });
    }
  } catch (error) {
    const detail = failureDetail(error, options.signal);
    onResult({ scenario: "start", ...FAILED, detail });
  } finally {
    await Promise.resolve(model[Symbol.asyncDispose]()).catch(options.onLeftBehind);
    await harness.cleanUp(subject.fixture).catch(options.onLeftBehind);
  }
  for (const [transport, detail] of Object.entries(subject.fixture.untested)) {
    onResult({ scenario: "all", transport, result: "not tested", ms: null, detail });
  }
  return results;
}

/** Writes files and their folders; a value that is not a string is written as JSON. */
export function writeFiles(files: Readonly<Record<string, unknown>>): void {
  for (const [path, content] of Object.entries(files)) {
    const text = typeof content === "string" ? content : JSON.stringify(content, null, 2);
    Deno.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    Deno.writeTextFileSync(path, text, { mode: 0o600 });
  }
}

/** Sets the agent up with `mesh setup`, and starts a daemon, tmux and the agent. */
async function startAgent(driver: AgentDriver, harness: TestHarness): Promise<void> {
  const { agent, fixture, model } = driver;
  writeFiles(fixture.files(harness.testHome, model.url));
  harness.extendEnv(fixture.env(model.url));
  const stderrLines: string[] = [];
  const output = { out: () => undefined, err: (text: string) => void stderrLines.push(text) };
  const code = await runSetup(new Args(new Map([["agent", agent.id]])), harness.env, output);
  if (code !== 0) throw new CommandError(`\`mesh setup\` failed: ${stderrLines.join(" ")}`);
  await harness.startDaemon();
  await harness.openTmux();
  await driver.start();
}

/** Runs one scenario. After a failure the agent is ended, and the next scenario restarts it. */
export async function runScenario(
  { transport: intended, run }: Scenario,
  driver: AgentDriver,
  signal: AbortSignal,
): Promise<Omit<Result, "agent" | "version" | "scenario">> {
  let expected: string | null = null;
  try {
    // A failed scenario ends the agent, because its screen may be in any state. The agent is then
    // started again.
    if (!driver.running) await driver.start();
    expected = intended ?? (await driver.peer())?.transport ?? null;
    await driver.takeLastTransport();
    const { sent, ms, remark = null } = await run(driver);
    return { transport: await driver.transportOf(sent), result: "passed", ms, detail: remark };
  } catch (error) {
    const detail = failureDetail(error, signal);
    const ignore = (error: unknown) => void failureDetail(error, signal);
    const transport = await driver.takeLastTransport().catch(ignore);
    await driver.end().catch(ignore);
    return { ...FAILED, transport: transport ?? expected, detail };
  }
}

/**
 * The text of a failure; rethrows an interruption. An unexpected error is a result, too, so that
 * the results of other agents are kept.
 */
export function failureDetail(error: unknown, signal: AbortSignal): string {
  signal.throwIfAborted();
  const refusal = fileRefusal(error);
  if (refusal) return `${refusal.message}; ${refusal.hint}`;
  const isExpected = error instanceof CommandError || error instanceof ApiError ||
    isUnreachable(error);
  return isExpected ? error.message : `Unexpected error: ${messageOf(error)}`;
}
