/** The settings of git that change what a diff contains. They name no program. */

import type { ProgramOutput } from "../../../host/program_output.ts";

/** Values by their names in small letters, such as `core.autocrlf`. */
export type Settings = Readonly<Record<string, string>>;

type Run = (argv: readonly string[]) => Promise<ProgramOutput>;

const NAMES = [
  "core\\.(autocrlf|eol|filemode|symlinks|ignorecase|precomposeunicode)",
  "extensions\\.objectformat",
  "init\\.defaultbranch",
  "branch\\..+\\.(remote|merge)",
];

/** The settings of a repository. Files that its configuration includes are not read. */
export async function readSettings(run: Run, file: string): Promise<Settings> {
  const which = ["--file", file, "--no-includes"];
  return toSettings(await run(["git", "config", ...which, "-z", "--get-regexp", either(NAMES)]));
}

/** The person's own settings, which the repository's outweigh. */
export async function readOwnSettings(
  run: Run,
  env: Readonly<Record<string, string>>,
): Promise<Settings> {
  const home = env["HOME"] ?? "/nonexistent";
  const config_dir = env["XDG_CONFIG_HOME"] ?? `${home}/.config`;
  const names = either([...NAMES.slice(0, 1), "core\\.excludesfile", ...NAMES.slice(2, 3)]);
  // The file of our program's environment would be the empty one.
  const where = ["env", "-u", "GIT_CONFIG_GLOBAL", `HOME=${home}`, `XDG_CONFIG_HOME=${config_dir}`];
  const get = ["git", "config", "--global", "-z", "--type=path", "--get-regexp", names];
  const found = toSettings(await run([...where, ...get]));
  return { "core.excludesfile": `${config_dir}/git/ignore`, ...found };
}

function either(names: readonly string[]): string {
  return `^(${names.join("|")})$`;
}

/** Each setting is its name, a line feed, its value, and a NUL; the last one counts. */
function toSettings({ exit, bytes }: ProgramOutput): Settings {
  if (exit !== 0) return {};
  const settings: Record<string, string> = {};
  for (const entry of new TextDecoder().decode(bytes).split("\0")) {
    const [, name, value] = /^([^\n]+)\n([^]*)$/.exec(entry) ?? [];
    if (name !== undefined && value !== undefined) settings[name] = value;
  }
  return settings;
}
