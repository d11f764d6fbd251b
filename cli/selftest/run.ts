/** Plays all scenarios with one agent, and says how each went; whatever fails, all is ended. */

import type { Clock } from "kit/core/clock.ts";
import { Refused } from "kit/http/client.ts";
import { runSetup } from "../setup/setup_command.ts";
import type { Env } from "../../daemon/host/paths.ts";
import { Failed } from "../client/failures.ts";
import { Unreachable } from "../client/daemon_client.ts";
import { modelFor, type Subject } from "./agents.ts";
import { Room } from "./environment.ts";
import type { Scenario } from "./scenarios.ts";
import { Trial } from "./trial.ts";
import type { Result } from "./verdicts.ts";
import { writeFiles } from "./writing.ts";

export interface Playing {
  readonly env: Env;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly version: string;
  readonly scenarios: readonly Scenario[];
  /** Each result as it comes. */
  tell(result: Result): void;
}

/** All that was found of one agent. */
export async function play(subject: Subject, playing: Playing): Promise<readonly Result[]> {
  const { version } = playing;
  const results: Result[] = [];
  const tell = (result: Omit<Result, "agent" | "version">) => {
    const whole = { agent: subject.agent.id, version, ...result };
    results.push(whole);
    playing.tell(whole);
  };
  const room = new Room(playing.env, playing);
  const model = modelFor(subject.fixture, room.forbidden);
  try {
    const trial = new Trial(subject, room, model);
    await open(trial, room);
    for (const scenario of playing.scenarios) {
      if (!(await scenario.fits?.(trial) ?? true)) continue;
      tell({ scenario: scenario.name, ...await tryOut(scenario, trial, playing.signal) });
    }
  } catch (fault) {
    const detail = reasonOf(fault, playing.signal);
    tell({ scenario: "start", rung: null, result: "failed", ms: null, detail });
  } finally {
    await model[Symbol.asyncDispose]();
    await room.leave(subject.fixture);
  }
  for (const [rung, detail] of Object.entries(subject.fixture.untested)) {
    tell({ scenario: "all", rung, result: "not tested", ms: null, detail });
  }
  return results;
}

/** The agent as its user has it: installed, set up by our own command, and started. */
async function open(trial: Trial, room: Room): Promise<void> {
  const { agent, fixture, model } = trial;
  writeFiles(fixture.files(room.premises, model.url));
  room.extend(fixture.env(model.url));
  const said: string[] = [];
  const paper = { out: () => undefined, err: (text: string) => void said.push(text) };
  const code = await runSetup(["--agent", agent.id], room.env, paper);
  if (code !== 0) throw new Failed(`mesh setup: ${said.join(" ")}`);
  await room.startDaemon();
  await room.openTmux();
  await trial.start();
}

/** How one scenario went. After a failure the agent is started anew for the next. */
export async function tryOut(
  { rung: meant, play }: Scenario,
  trial: Trial,
  signal: AbortSignal,
): Promise<Omit<Result, "agent" | "version" | "scenario">> {
  let expected: string | null = null;
  try {
    // What failed before may have left anything on the screen.
    if (!trial.running) await trial.start();
    expected = meant ?? (await trial.peer())?.transport ?? null;
    await trial.lastRung();
    const { sent, ms, remark = null } = await play(trial);
    return { rung: await trial.rungOf(sent), result: "passed", ms, detail: remark };
  } catch (fault) {
    const detail = reasonOf(fault, signal);
    const rung = await trial.lastRung().catch((fault) => (reasonOf(fault, signal), null));
    await trial.end().catch((fault) => reasonOf(fault, signal));
    return { rung: rung ?? expected, result: "failed", ms: null, detail };
  }
}

/** What went wrong, for the table; an interruption, and a fault of ours, are no result. */
function reasonOf(fault: unknown, signal: AbortSignal): string {
  signal.throwIfAborted();
  if (fault instanceof Failed || fault instanceof Refused || fault instanceof Unreachable) {
    return fault.message;
  }
  throw fault;
}
