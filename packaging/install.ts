/**
 * `deno task install`: puts mesh, with a Deno of its own, into the user's data folder, and its
 * launcher into a folder of the PATH. Neither these sources nor Deno are needed afterwards.
 *
 *     deno task install [--to FOLDER] [--yes] [--force]
 */

import { parseArgs } from "node:util";
import { basename, dirname, join } from "kit/core/path.ts";
import { messageOf } from "kit/core/text.ts";
import { fileRefusal, mustBeChangeable, unlessMissing } from "kit/host/file_errors.ts";
import { VERSION } from "kit/core/version.ts";
import { fileURLToPath } from "node:url";
import { programsOnPath } from "../cli/client/program.ts";
import { type Installed, INSTALLED_FILE } from "../cli/client/installed.ts";
import { versionOf } from "../cli/client/program_version.ts";
import { MeshPrograms } from "../daemon/features/agents/settings_files/mesh_programs.ts";
import { type Env, homePath, xdgFolder } from "../daemon/host/paths.ts";
import { DENO_VERSION, writeProgram } from "./pack.ts";

const SOURCES = fileURLToPath(new URL("../", import.meta.url)).replace(/\/$/, "");
/** Folders of the home that people have on their PATH for programs of their own, best first. */
const FOLDERS = [".local/bin", "bin", ".bin"];
const print = (line: string) => void Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));

/** A reason why nothing was installed. */
class Refusal extends Error {}

interface Options {
  /** The folder of the launcher; undefined to choose it. */
  readonly to: string | undefined;
  /** True to change the shell's configuration without a question. */
  readonly yes: boolean;
  /** True to replace or hide a newer mesh. */
  readonly force: boolean;
}

function readOptions(args: readonly string[], env: Env): Options {
  const { values } = parseArgs({
    args: [...args],
    options: { to: { type: "string" }, yes: { type: "boolean" }, force: { type: "boolean" } },
  });
  const to = values.to ?? env["MESH_INSTALL_DIR"];
  if (to !== undefined && !to.startsWith("/")) {
    throw new Refusal(`The folder "${to}" is relative; give an absolute path`);
  }
  return { to, yes: values.yes ?? false, force: values.force ?? false };
}

/** The folder of the launcher: the first of the user's own folders that is on the PATH. */
function launcherFolder(env: Env, { to }: Options): string {
  if (to !== undefined) return to;
  const folders = FOLDERS.map((name) => homePath(env, name));
  return folders.find((folder) => isOnPath(folder, env)) ?? homePath(env, ".local/bin");
}

function isOnPath(folder: string, env: Env): boolean {
  return pathFolders(env).includes(folder);
}

function pathFolders(env: Env): string[] {
  return (env["PATH"] ?? "").split(":").map((entry) => entry.replace(/(?<=.)\/$/, ""));
}

/** The folder of the versions of mesh that were installed here. */
function programFolder(env: Env): string {
  const data = xdgFolder(env, "XDG_DATA_HOME") ?? homePath(env, ".local", "share");
  return join(data, "agent-mesh");
}

/** Throws `Refusal` if the launcher would replace a program that is not ours, or a newer mesh. */
async function checkOthers(launcher: string, env: Env, { force }: Options): Promise<void> {
  const found = unlessMissing(() => Deno.lstatSync(launcher));
  if (found?.isDirectory) {
    throw new Refusal(`${launcher} is a folder: remove it, or choose another folder with --to`);
  }
  const real = unlessMissing(() => Deno.realPathSync(launcher));
  if (real !== undefined) {
    if (real.includes("/node_modules/") || real.includes("/Cellar/")) {
      throw new Refusal(
        `${launcher} belongs to a package manager: choose another folder with --to`,
      );
    }
    if (!new MeshPrograms(env, []).includes([launcher])) {
      throw new Refusal(`${launcher} is another program: choose another folder with --to`);
    }
  }
  // A folder that is not on the PATH yet is added in front.
  const folders = pathFolders(env);
  const behind = folders.slice(folders.indexOf(dirname(launcher)) + 1).join(":");
  const hidden = programsOnPath("mesh", { PATH: behind });
  const paths = real === undefined ? hidden : [launcher, ...hidden];
  for (const path of paths.filter((path) => new MeshPrograms(env, []).includes([path]))) {
    const version = await versionOf(path, env);
    if (!force && version !== undefined && isNewer(version, VERSION)) {
      throw new Refusal(
        `${path} is mesh ${version}, newer than ${VERSION} of these sources: use --force to ` +
          "install it anyway",
      );
    }
  }
}

function isNewer(version: string, than: string): boolean {
  const [left, right] = [version, than].map((text) => text.split(".").map(Number));
  const differs = left?.findIndex((number, at) => number !== right?.[at]) ?? -1;
  return differs >= 0 && Number(left?.[differs]) > Number(right?.[differs] ?? 0);
}

/**
 * Writes a folder of its own for each installation, because a running daemon still loads parts of
 * the one before. Older ones are removed.
 */
function install(launcher: string, env: Env): string {
  const versions = programFolder(env);
  const before = unlessMissing(() => Deno.realPathSync(launcher));
  Deno.mkdirSync(versions, { recursive: true });
  const folder = Deno.makeTempDirSync({ dir: versions, prefix: `${VERSION}-` });
  writeProgram(folder);
  const installed: Installed = { program: launcher, sources: SOURCES, deno: DENO_VERSION };
  Deno.writeTextFileSync(join(folder, INSTALLED_FILE), `${JSON.stringify(installed, null, 2)}\n`);
  const packages = join(folder, "node_modules/@deno/here");
  Deno.mkdirSync(packages, { recursive: true });
  copyProgram(Deno.execPath(), join(packages, "deno"));
  Deno.mkdirSync(dirname(launcher), { recursive: true });
  const next = `${launcher}.${basename(folder)}`;
  Deno.symlinkSync(join(folder, "mesh"), next);
  Deno.renameSync(next, launcher);
  const kept = [folder, before === undefined ? "" : dirname(before)];
  for (const { name } of Deno.readDirSync(versions)) {
    const path = join(versions, name);
    if (!kept.includes(path) && !isInUse(path)) Deno.removeSync(path, { recursive: true });
  }
  return folder;
}

/** True for the folder of another launcher, which was installed with `--to`. */
function isInUse(folder: string): boolean {
  const text = unlessMissing(() => Deno.readTextFileSync(join(folder, INSTALLED_FILE)));
  const { program = "" }: Partial<Installed> = text === undefined ? {} : JSON.parse(text);
  return unlessMissing(() => Deno.realPathSync(program)) === join(folder, "mesh");
}

/** A hard link takes no space, and outlives the package cache that it comes from. */
function copyProgram(from: string, to: string): void {
  try {
    Deno.linkSync(Deno.realPathSync(from), to);
  } catch {
    Deno.copyFileSync(from, to); // The cache is on another file system.
  }
  Deno.chmodSync(to, 0o755);
}

/** The files that a shell runs at each start, and the line that adds a folder to the PATH. */
interface ShellFiles {
  readonly shell: string;
  readonly paths: readonly string[];
  readonly line: string;
}

function shellFiles(folder: string, env: Env): ShellFiles[] {
  const home = homePath(env);
  const place = folder.startsWith(`${home}/`) ? `$HOME${folder.slice(home.length)}` : folder;
  const line = `export PATH="${place}:$PATH"`;
  const config = xdgFolder(env, "XDG_CONFIG_HOME") ?? join(home, ".config");
  return [
    { shell: "bash", paths: bashFiles(home), line },
    { shell: "zsh", paths: [join(zshFolder(env), ".zshrc")], line },
    {
      shell: "fish",
      paths: [join(config, "fish/conf.d/mesh.fish")],
      line: `fish_add_path "${place}"`,
    },
  ];
}

/** A login shell, as tmux, ssh and macOS start it, reads `.bashrc` only through its own file. */
function bashFiles(home: string): string[] {
  const bashrc = join(home, ".bashrc");
  const texts = [".bash_profile", ".bash_login", ".profile"].map((name) => {
    const path = join(home, name);
    return { path, text: unlessMissing(() => Deno.readTextFileSync(path)) };
  });
  const { path, text } = texts.find(({ text }) => text !== undefined) ??
    { path: join(home, ".profile"), text: undefined };
  return text?.includes(".bashrc") ? [bashrc] : [bashrc, path];
}

/** The folder of zsh's files. A user's `.zshenv`, which each zsh reads, may set it. */
function zshFolder(env: Env): string {
  const [zsh] = programsOnPath("zsh", env);
  const args = ["-c", 'printf %s "$ZDOTDIR"'];
  const options = { env: { ...env }, clearEnv: true, stdin: "null", stderr: "null" } as const;
  const { success, stdout } = zsh === undefined
    ? { success: false, stdout: new Uint8Array() }
    : new Deno.Command(zsh, { args, ...options }).outputSync();
  return (success && new TextDecoder().decode(stdout)) || env["ZDOTDIR"] || homePath(env);
}

/** Prints how to add the launcher's folder to the PATH, and adds it if the user wants it. */
function offerPath(folder: string, env: Env, { yes }: Options): void {
  const files = shellFiles(folder, env);
  print(`\n${folder} is not on your PATH. The line for your shell:`);
  for (const { shell, paths, line } of files) {
    print(`  ${shell.padEnd(4)}  ${line}   in ${inHome(paths, env)}`);
  }
  const [other] = programsOnPath("mesh", env);
  if (other !== undefined) print(`Until then "mesh" runs ${other}, which the line hides`);
  const own = files.find(({ shell }) => shell === basename(env["SHELL"] ?? ""));
  if (!own) {
    if (yes) print("Not added: SHELL names neither bash, zsh nor fish. Add the line yourself");
    return;
  }
  const names = inHome(own.paths, env);
  const mayAsk = Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
  if (!yes && !(mayAsk && /^y(es)?$/i.test(prompt(`Add it to ${names}? [y/N]`) ?? ""))) return;
  const added = own.paths.filter((path) => addLine(path, own.line));
  if (added.length > 0) print(`Open a new terminal, or run: ${own.line}`);
}

/** Paths for a person, those of the home with a tilde. */
function inHome(paths: readonly string[], env: Env): string {
  const home = `${homePath(env)}/`;
  const shown = paths.map((path) => path.startsWith(home) ? `~/${path.slice(home.length)}` : path);
  return shown.join(" and ");
}

/** Adds a line at the end of a shell's file; true if it was added, or is there already. */
function addLine(path: string, line: string): boolean {
  try {
    const text = unlessMissing(() => Deno.readTextFileSync(path)) ?? "";
    if (text.split("\n").includes(line)) {
      print(`${path} has the line already`);
      return true;
    }
    mustBeChangeable(path);
    const gap = text === "" || text.endsWith("\n") ? "" : "\n";
    Deno.mkdirSync(dirname(path), { recursive: true });
    Deno.writeTextFileSync(path, `${text}${gap}${line}\n`);
    print(`Added to ${path}`);
    return true;
  } catch (error) {
    const refusal = fileRefusal(error);
    if (!refusal) throw error;
    print(`Not added: ${messageOf(refusal)}. mesh is installed; add the line yourself`);
    return false;
  }
}

async function main(args: readonly string[], env: Env): Promise<void> {
  const options = readOptions(args, env);
  const launcher = join(launcherFolder(env, options), "mesh");
  await checkOthers(launcher, env, options);
  const folder = install(launcher, env);
  const version = await versionOf(launcher, { ...env, PATH: "/usr/bin:/bin" });
  if (version !== VERSION) {
    throw new Error(
      `${launcher} was installed, but does not start; see why: ${launcher} --verbose --version`,
    );
  }
  print(`Installed ${launcher}: mesh ${version}, with its own Deno, in ${folder}`);
  const [first] = programsOnPath("mesh", env);
  if (!isOnPath(dirname(launcher), env)) offerPath(dirname(launcher), env, options);
  else if (first !== launcher) {
    print(`"mesh" still runs ${first}, which comes first on your PATH`);
  }
  print(
    "Next: mesh run claude (or codex, gemini, opencode, copilot) starts an agent, with all that",
  );
  print("it needs. mesh setup connects the agents that you start yourself.");
}

if (import.meta.main) {
  try {
    await main(Deno.args, Deno.env.toObject());
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    print(`Not installed: ${messageOf(fileRefusal(error) ?? error)}`);
    Deno.exit(1);
  }
}
