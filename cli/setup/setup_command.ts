/** `mesh setup`: connects mesh with the coding agents of this machine, or removes it from them. */

import { randomIds, systemClock } from "kit/core/clock.ts";
import { OUTGOING_VARIABLES } from "kit/net/outgoing/proxies.ts";
import { outgoingFetch } from "kit/net/outgoing/http_client.ts";
import { messageOf } from "kit/core/text.ts";
import { fileRefusal } from "kit/host/file_errors.ts";
import { type Env, InvalidPath, mustHavePaths } from "../../daemon/host/paths.ts";
import { runningDaemon } from "../../daemon/host/runtime_file.ts";
import { exists } from "../../daemon/features/agents/install.ts";
import { UnreadableConfig } from "../../daemon/app/config_file.ts";
import { Args } from "../command/command.ts";
import { createDaemonClient } from "../client/daemon_client.ts";
import { readClientSettings } from "../client/settings.ts";
import { meshCommand } from "../client/program.ts";
import { stopDaemon } from "../client/daemon_process.ts";
import { type ServiceHost, THIS_HOST, whyNoService } from "../client/service_manager.ts";
import { CommandError, EXIT, Interrupted, UsageError } from "../client/failures.ts";
import { AGENT_IDS, chosenAgents, setUpAgent } from "./agents.ts";
import { lastingCommand } from "./lasting_command.ts";
import { readOptions, type SetupOptions } from "./options.ts";
import { joinRelay, RelayJoinError, type RelayMembership } from "./relay.ts";
import { installService, removeService, serviceOf } from "./service.ts";
import {
  fileLines,
  nameLine,
  nextSteps,
  relayLines,
  type SetupOutput,
  type SetupReport,
  TERMINAL,
} from "./setup_output.ts";
import { ensureToken, isHumanNamed, nameHuman, suggestedName } from "./configuration.ts";

type SendRequest = (request: Request) => Promise<Response>;

/** The environment of a run; tests replace parts of it. */
interface SetupDeps {
  readonly send?: SendRequest;
  readonly host?: ServiceHost;
}

/** One run of the command. */
interface Run {
  readonly output: SetupOutput;
  readonly host: ServiceHost;
  readonly options: SetupOptions;
  readonly env: Env;
  /** The command that the agents call. */
  readonly mesh: readonly string[];
  /** True if a person is asked before anything is changed. */
  readonly asks: boolean;
}

/** Runs the command; returns the exit code: 0 done, 1 refused, 2 wrong usage (contract 7). */
export async function runSetup(
  args: Args,
  env: Env,
  output: SetupOutput = TERMINAL,
  { send = outgoingFetch(env, systemClock.now), host = THIS_HOST }: SetupDeps = {},
): Promise<number> {
  const options = readOptions(args);
  if (typeof options === "string") {
    if (args.flag("json")) {
      output.out(JSON.stringify({ error: "usage", detail: options }, undefined, 2));
    }
    output.err(options);
    return EXIT.usageError;
  }
  const { yes, dry_run, json, name } = options;
  const fail = (text: string, code: number) => {
    if (json) output.out(JSON.stringify({ errors: [text] }, undefined, 2));
    output.err(text);
    return code;
  };
  const asks = output.ask !== undefined && !yes && !dry_run && !json;
  try {
    if (name !== undefined) nameHuman(env, name, { dry_run: true }); // Refuses a wrong name first.
    const { relay: url } = options;
    const relay = url === undefined
      ? undefined
      : await joinRelay({ env, url, dry_run, send, clock: systemClock });
    mustHavePaths(env);
    if (relay && options.agent === undefined && !options.all) {
      if (json) output.out(JSON.stringify(relay, undefined, 2));
      else relayLines(relay).forEach((text) => output.out(text));
      return EXIT.done;
    }
    const { command: mesh, is_cached, warning, note } = await lastingCommand(env, {
      replace: asks || yes,
    });
    const run: Run = { options, env, output, host, mesh, asks };
    const warnings = warning === undefined ? [] : [warning];
    return await setUpMachine(run, { relay, warnings, note, is_cached });
  } catch (error) {
    if (error instanceof UsageError) return fail(error.message, EXIT.usageError);
    if (error instanceof Interrupted) {
      return fail("Interrupted. `mesh setup` goes on from here.", EXIT.interrupted);
    }
    if (error instanceof RelayJoinError) {
      return fail(error.message, error.misused ? EXIT.usageError : EXIT.refused);
    }
    const text = expectedText(error);
    if (text === undefined) throw error;
    return fail(text, error instanceof InvalidPath ? EXIT.usageError : EXIT.refused);
  }
}

interface Start {
  readonly relay: RelayMembership | undefined;
  readonly warnings: readonly string[];
  readonly note: string | undefined;
  readonly is_cached: boolean;
}

async function setUpMachine(run: Run, start: Start): Promise<number> {
  const { relay, warnings, note, is_cached } = start;
  const { options, env, output, asks } = run;
  const { dry_run, uninstall, json, diff } = options;
  const print = (lines: readonly string[]) => {
    if (!json) lines.forEach((text) => output.out(text));
  };
  if (relay) print(relayLines(relay));
  const warn = (changed: SetupReport) => {
    const own = !uninstall && changesAgents(changed) ? warnings : [];
    const found = changed.agents.flatMap((agent) => agent.warnings);
    print([...own, ...found].map((text) => `warning: ${text}`));
    if (note !== undefined && !uninstall && changesAgents(changed)) print([`note: ${note}`]);
  };
  if (asks) {
    const plan = await changeFiles(run, { dry_run: true });
    print(fileLines(plan, { tense: "will change", diff }, env));
    warn(plan);
    const isDefault = !is_cached || uninstall;
    const question = `Make these changes? ${isDefault ? "[Y/n]" : "[y/N]"}`;
    if (changesAny(plan) && !isYes(output, question, isDefault)) {
      print(["Nothing was changed."]);
      return EXIT.refused;
    }
  }
  const changed = await changeFiles(run, { dry_run });
  if (!asks) {
    print(fileLines(changed, { tense: dry_run ? "would change" : "changed", diff }, env));
    warn(changed);
  }
  const { more, errors } = await setUpPersonAndService(run, changed);
  const report: SetupReport = {
    ...changed,
    ...more,
    ...(relay && { relay }),
    warnings,
    errors: [...changed.errors, ...errors],
  };
  if (json) output.out(JSON.stringify(report, undefined, 2));
  if (!dry_run && !uninstall && changesAny(changed) && !asks && !options.yes) {
    print(["Asked nothing, because this is no terminal. `mesh setup --uninstall` undoes it."]);
  }
  if (!dry_run && report.agents.some(({ error }) => error === undefined)) {
    print(nextSteps(report, runningDaemon(env) !== undefined));
  }
  return reportErrors(report, output);
}

function changesAny(report: SetupReport): boolean {
  return report.token_written_to !== null || changesAgents(report);
}

function changesAgents({ agents }: SetupReport): boolean {
  return agents.some(({ differences }) => differences.length > 0);
}

function isYes({ ask }: SetupOutput, question: string, ifEmpty: boolean): boolean {
  const answer = ask?.(question)?.toLowerCase();
  return answer === undefined ? ifEmpty : answer === "y" || answer === "yes";
}

/** Changes the files of the agents, and adds the token if one of them was set up. */
async function changeFiles(run: Run, { dry_run }: { dry_run: boolean }): Promise<SetupReport> {
  const { options, env, mesh } = run;
  const { uninstall, replace, status_line } = options;
  const agents = [];
  for (const agent of chosenAgents(options, env)) {
    agents.push(await setUpAgent(agent, { dry_run, uninstall, replace, status_line, mesh }, env));
  }
  const base = { agents, dry_run, uninstall, warnings: [] };
  if (uninstall || !agents.some(({ error }) => error === undefined)) {
    const none = agents.length === 0 && !options.service && options.name === undefined;
    return { ...base, token_written_to: null, errors: none ? [noAgentFound(options)] : [] };
  }
  try {
    const token = ensureToken(env, { ids: randomIds, dry_run });
    return { ...base, token_written_to: token ?? null, errors: [] };
  } catch (error) {
    const refusal = expectedText(error);
    if (refusal === undefined) throw error;
    return { ...base, token_written_to: null, errors: [refusal] };
  }
}

/** The text of an error in the configuration or in a settings file; undefined for other errors. */
function expectedText(error: unknown): string | undefined {
  if (error instanceof UnreadableConfig || error instanceof CommandError) return error.message;
  const refusal = fileRefusal(error);
  return refusal || error instanceof InvalidPath ? messageOf(refusal ?? error) : undefined;
}

/** Names the human and installs the service, if an option or an answer says so. */
async function setUpPersonAndService(run: Run, changed: SetupReport) {
  const { options, env, output, asks } = run;
  const more: { name_written_to?: string; service?: string } = {};
  const errors: string[] = [];
  if (changed.errors.length > 0) return { more, errors };
  try {
    const isAsked = asks && !options.uninstall && !isHumanNamed(env);
    const question = "Your name, by which agents may ask you:";
    const name = options.name ?? (isAsked ? output.ask?.(question, suggestedName(env)) : undefined);
    if (name !== undefined) more.name_written_to = nameHuman(env, name, options);
    const service = await setUpService(run);
    if (service) more.service = service;
  } catch (error) {
    const text = error instanceof UsageError ? error.message : expectedText(error);
    if (text === undefined) throw error;
    errors.push(text);
  }
  return { more, errors };
}

/** Returns the path of the service's file if it was changed. */
async function setUpService({ options, env, output, host, mesh, asks }: Run) {
  const service = serviceOf(host, env, mesh);
  if (options.uninstall) {
    const isRemoved = options.service && service && await removeService(service, host);
    return isRemoved ? service.path : undefined;
  }
  const isOffered = asks && !(service && exists(service.path));
  if (!options.service && !isOffered) return undefined;
  const obstacle = await whyNoService(service, host);
  if (!service || obstacle !== undefined) {
    const text = `Nothing can start the daemon at login: ${obstacle}. Start it with: mesh up`;
    if (options.service) throw new CommandError(text);
    output.out(text);
    return undefined;
  }
  const question = "Start the daemon now and at every login? [Y/n]";
  if (!options.service && !isYes(output, question, true)) return undefined;
  if (options.dry_run) return service.path;
  const daemon = createDaemonClient(env, false, readClientSettings(env));
  await stopDaemon({ env, clock: systemClock, daemon });
  await installService(service, host, env);
  const outgoing = OUTGOING_VARIABLES.filter((name) => env[name]);
  if (outgoing.length > 0 && !options.json) {
    output.out(`service: it keeps ${outgoing.join(", ")} of this shell in ${service.path}`);
  }
  return service.path;
}

/**
 * Connects one agent, unless it is connected already: shows the files, and asks once unless `yes`.
 * A person who agrees also gets a name, unless a running daemon would not notice it. Returns true
 * if a file was changed. Throws `CommandError` if the user declines or a file cannot be changed,
 * and `UsageError` where nobody can be asked.
 */
export async function connectAgent(
  agent: string,
  env: Env,
  { yes }: { readonly yes: boolean },
  output: SetupOutput = TERMINAL,
): Promise<boolean> {
  const options = readOptions(new Args(new Map<string, unknown>([["agent", agent], ["yes", yes]])));
  if (typeof options === "string") throw new UsageError(options);
  mustHavePaths(env);
  const { command: mesh } = await lastingCommand(env, { replace: true });
  const run: Run = { options, env, output, host: THIS_HOST, mesh, asks: false };
  const plan = await changeFiles(run, { dry_run: true });
  mustBePossible(plan);
  if (!changesAny(plan)) return false;
  fileLines(plan, { tense: "will change", diff: false }, env).forEach((text) => output.out(text));
  const asks = !yes && output.ask !== undefined;
  const isNameless = asks && runningDaemon(env) === undefined && !isHumanNamed(env);
  const name = isNameless ? suggestedName(env) : undefined;
  if (name !== undefined) output.out(nameLine(nameHuman(env, name, { dry_run: true }), name, env));
  if (!yes && output.ask === undefined) {
    throw new UsageError(
      `${agent} is not connected with mesh yet: add --yes to make these changes`,
    );
  }
  if (asks && !isYes(output, "Make these changes? [Y/n]", true)) {
    throw new CommandError("Nothing was changed.");
  }
  mustBePossible(await changeFiles(run, { dry_run: false }));
  if (name !== undefined) nameHuman(env, name, { dry_run: false });
  return true;
}

function mustBePossible({ agents, errors }: SetupReport): void {
  const found = [...agents.flatMap(({ error }) => error ?? []), ...errors];
  if (found.length > 0) throw new CommandError(found.join("\n"));
}

/** Removes mesh from all agents, and the service, without asking. */
export async function undoSetup(env: Env, host: ServiceHost): Promise<SetupReport> {
  const options = readOptions(
    new Args(new Map(["uninstall", "service", "yes"].map((flag) => [flag, true]))),
  );
  if (typeof options === "string") throw new UsageError(options);
  const mesh = meshCommand();
  const run: Run = { options, env, output: TERMINAL, host, mesh, asks: false };
  const changed = await changeFiles(run, { dry_run: false });
  const { more, errors } = await setUpPersonAndService(run, changed);
  return { ...changed, ...more, errors: [...changed.errors, ...errors] };
}

/** Prints the failures; returns the exit code. */
export function reportErrors(
  { agents, errors, uninstall }: SetupReport,
  output: SetupOutput,
): number {
  const failed = agents.filter(({ error }) => error !== undefined);
  for (const { agent, error } of failed) output.err(`${agent}: ${error}`);
  if (failed.length > 0 && failed.length < agents.length) {
    const names = failed.map(({ agent }) => agent).join(", ");
    const undo = uninstall ? " --uninstall" : "";
    output.err(`Not done: ${names}; the other agents are. Mend the file, then: mesh setup${undo}`);
  }
  errors.forEach((error) => output.err(error));
  return failed.length > 0 || errors.length > 0 ? EXIT.refused : EXIT.done;
}

function noAgentFound({ uninstall }: SetupOptions): string {
  return `No installed agent was found to ${uninstall ? "remove mesh from" : "set up"}. ` +
    `Known agents: ${AGENT_IDS.join(", ")}; name one, or choose all with --all`;
}
