/** The commands of agents: built from the configuration alone, and redacted in results. */

import { Problem } from "protocol/problems.ts";
import { AGENTS } from "../agents/registry.ts";
import type { Backend } from "protocol/agents/contract.ts";
import type { CircleBoundary } from "protocol/peers/record.ts";
import type { Commands, Profile } from "protocol/spawn/contract.ts";

/** The configuration's `spawn` section, and `daemon.circle_boundary`. */
export interface SpawnSettings {
  readonly commands: Commands;
  readonly profiles: Readonly<Record<string, Profile>>;
  readonly allowed_paths: readonly string[];
  /** True if a person may start agents in any folder, since no setting limits the folders. */
  readonly any_path_for_human: boolean;
  readonly env: Readonly<Record<string, string>>;
  readonly circle_boundary: CircleBoundary;
}

export interface Command {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The command of a backend, followed by the arguments of the profile. */
export function commandOf(
  { commands, profiles, env }: SpawnSettings,
  backend: Backend,
  profile_name: string | undefined,
): Command {
  const argv = commands[backend];
  if (!argv) throw new Problem("unsupported_backend", { backend });
  if (profile_name === undefined) return { argv, env };
  const profile = Object.hasOwn(profiles, profile_name) ? profiles[profile_name] : undefined;
  if (!profile || (profile.backend ?? backend) !== backend) {
    throw new Problem("unknown_profile", { profile: profile_name, backend });
  }
  return { argv: [...argv, ...profile.args], env: { ...env, ...profile.env } };
}

const REDACTED = "[redacted]";

/** Permission modes are not redacted, because they show what a restarted agent may do. */
const PERMISSION_MODES = new Set(AGENTS.flatMap(({ permission_modes }) => permission_modes));

/**
 * A command as results and the restart log show it (specification 4): the program, the names of its
 * flags, and the arguments that the daemon supplied. Every other value is redacted, except
 * permission modes and configured models.
 */
export function redact(
  argv: readonly string[],
  supplied: readonly string[],
  models: ReadonlySet<string>,
): string[] {
  const [program = "", ...args] = argv;
  const redactValue = (value: string) =>
    PERMISSION_MODES.has(value) || models.has(value) ? value : REDACTED;
  const redacted = args.map((arg) => {
    const [, long, value] = /^(--[A-Za-z][A-Za-z-]*)(?:=(.*))?$/s.exec(arg) ?? [];
    if (long !== undefined) return value === undefined ? long : `${long}=${redactValue(value)}`;
    const [, short = "", rest = ""] = /^(-[A-Za-z])=?(.*)$/s.exec(arg) ?? [];
    if (short === "") return arg === "--" ? arg : redactValue(arg);
    return rest === "" ? short : `${short}${redactValue(rest)}`;
  });
  // A first argument `KEY=value` is a variable assignment and not the program.
  const name = program.includes("=") ? REDACTED : program.replace(/^.*\//, "");
  return [name, ...redacted, ...supplied];
}

/** The model ids that the configuration names. */
export function modelsOf({ commands, profiles }: SpawnSettings): ReadonlySet<string> {
  const commandLines = [
    ...Object.values(commands),
    ...Object.values(profiles).map(({ args }) => args),
  ];
  return new Set(commandLines.flatMap((args) =>
    args.flatMap((arg, index) => {
      if (arg === "--model" || arg === "-m") return args[index + 1] ?? [];
      return /^--model=(.+)$/.exec(arg)?.[1] ?? [];
    })
  ));
}

/** The settings for `GET /spawn/config`, without the values of the profiles' variables. */
export function withoutSecrets(
  { commands, profiles, allowed_paths, circle_boundary }: SpawnSettings,
) {
  const hideValues = (env: Profile["env"]) =>
    Object.fromEntries(Object.keys(env).map((name) => [name, "[hidden]"]));
  const shownProfiles = Object.entries(profiles).map(([name, profile]) =>
    [name, { ...profile, env: hideValues(profile.env) }] as const
  );
  return {
    commands,
    profiles: Object.fromEntries(shownProfiles),
    allowed_paths: [...allowed_paths],
    circle_boundary,
  };
}
