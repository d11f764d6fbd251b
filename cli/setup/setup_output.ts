/** The output of `mesh setup`: one line for each file, and the next steps. */

import type { Env } from "../../daemon/host/paths.ts";
import { Interrupted } from "../client/failures.ts";
import type { Device } from "../output/terminal.ts";
import type { AgentResult } from "./agents.ts";
import type { RelayMembership } from "./relay.ts";

/** The output of the command, and its questions to the person. */
export interface SetupOutput extends Pick<Device, "out" | "err"> {
  /**
   * Asks a person; undefined for an empty answer. Throws `Interrupted` on Ctrl-C and at the end of
   * the input. Absent without a terminal.
   */
  readonly ask?: (question: string, suggestion?: string) => string | undefined;
}

export const TERMINAL: SetupOutput = {
  out: (text) => void Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`)),
  err: (text) => void Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`)),
  ...(Deno.stdin.isTerminal() && Deno.stdout.isTerminal() && {
    ask: (question, suggestion) => {
      const answer = prompt(question, suggestion);
      if (answer === null) throw new Interrupted();
      return answer.trim() || undefined;
    },
  }),
};

/** Everything that one run has changed, or would change. */
export interface SetupReport {
  readonly agents: readonly AgentResult[];
  /** The configuration file, if a token was added to it. */
  readonly token_written_to: string | null;
  /** The configuration file, if the human was named in it. */
  readonly name_written_to?: string;
  /** The service's file, if it was written or removed. */
  readonly service?: string;
  readonly relay?: RelayMembership;
  readonly warnings: readonly string[];
  /** The failures of this run. */
  readonly errors: readonly string[];
  readonly dry_run: boolean;
  readonly uninstall: boolean;
}

type Tense = "changed" | "would change" | "will change";

interface LineOptions {
  readonly tense: Tense;
  /** Prints the changed lines, too. */
  readonly diff: boolean;
}

/** One line for each file; before a change, with what it means for the files. */
export function fileLines(report: SetupReport, options: LineOptions, env: Env): string[] {
  const { agents, uninstall } = report;
  const isPlan = options.tense !== "changed" && !uninstall &&
    agents.some(({ differences }) => differences.length > 0);
  return [
    ...isPlan ? PLAN : [],
    ...agents.flatMap((agent) => agentLines(agent, options, env)),
    ...configLines(report, options, env),
  ];
}

const PLAN: readonly string[] = [
  "This adds mesh to the settings of your agents. Your own settings stay, and each",
  "file is copied first (.mesh-backup). To undo it: mesh setup --uninstall",
];

function agentLines(
  { agent, files: results, differences, permission, error }: AgentResult,
  { tense, diff }: LineOptions,
  env: Env,
): string[] {
  // After the change, the errors are printed together at the end.
  if (error !== undefined && differences.length === 0) {
    const lines = diff ? results.flatMap(({ difference }) => difference?.split("\n") ?? []) : [];
    return tense === "changed" ? lines : [`${agent}: left out: ${error}`, ...lines];
  }
  if (differences.length === 0) return [`${agent}: nothing to change`];
  const files = differences.flatMap((difference) => {
    const [path = "", ...changed] = difference.split("\n");
    const count = (sign: string) => changed.filter((line) => line.startsWith(sign)).length;
    const counts = `+${count("+")} -${count("-")}`.padEnd(10);
    return [`  ${counts} ${shortPath(path, env)}`, ...(diff ? changed : [])];
  });
  const allowed = `  allows only mesh's tools without a question: ${permission}`;
  return [`${agent}: ${tense}`, ...files, ...(permission === undefined ? [] : [allowed])];
}

function configLines(
  { token_written_to: path }: SetupReport,
  { tense }: LineOptions,
  env: Env,
): string[] {
  if (path === null) return [];
  const verb = tense === "changed" ? "added" : tense.replace("change", "add");
  return [
    `${shortPath(path, env)}: ${verb} a token (daemon.auth_token)`,
    "  It keeps other programs out. Agents and mesh send it by themselves: you have",
    "  nothing to do.",
  ];
}

/** The line about the name that a person gets. */
export function nameLine(path: string, name: string, env: Env): string {
  return `${shortPath(path, env)}: will name you ${name}, so that agents may ask you`;
}

function shortPath(path: string, env: Env): string {
  const home = env["HOME"];
  return home && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

/** The tasks that are left to the user, and the next three steps. */
export function nextSteps(report: SetupReport, isDaemonRunning: boolean): string[] {
  const { agents, uninstall, token_written_to, name_written_to, service } = report;
  const changed = agents.filter(({ differences }) => differences.length > 0);
  if (uninstall) {
    const text = "Next: restart the agents' open sessions; they still use the old settings.";
    return changed.length > 0 ? [text] : [];
  }
  const needsRestart = isDaemonRunning && (token_written_to !== null || name_written_to);
  const start = service
    ? "mesh status             the daemon runs, and starts again at every login"
    : needsRestart
    ? "mesh restart            restart the daemon, which uses the new settings then"
    : isDaemonRunning
    ? "mesh status             the daemon is running"
    : "mesh up                 start the daemon";
  const restarted = changed.map(({ agent }) => agent).join(", ");
  return [
    ...agents.flatMap(({ notice, differences }) =>
      notice && differences.length > 0 ? [notice] : []
    ),
    "Next:",
    `  1. ${start}`,
    restarted
      ? `  2. start ${restarted}; an open session uses the new settings after a restart`
      : "  2. start an agent",
    '  3. mesh peers              list the peers; then: mesh ask PEER "…" --wait',
  ];
}

export function relayLines({ relay, secret, written_to, dry_run }: RelayMembership): string[] {
  if (dry_run) {
    const what = secret === "kept" ? "keep its secret" : "register for a new secret";
    return [`${written_to}: would join ${relay} and ${what}`];
  }
  const which = secret === "kept" ? "the existing secret" : "a new secret";
  return [
    `${written_to}: joined ${relay} with ${which}`,
    "Sign in to the relay with relay.secret. Anyone who has it can reach your machines: share it " +
    "only with your own machines.",
    "Next: restart the daemon with `mesh down` and `mesh up`, then check `mesh status`.",
  ];
}
