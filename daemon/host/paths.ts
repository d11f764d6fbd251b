/** Paths of configuration and state. Imports no library, so that hooks start fast. */

import { FileRefusal, onFile, unlessMissing } from "kit/host/file_errors.ts";

/** The environment variables that decide the paths. */
export type Env = Readonly<Record<string, string>>;

/** A variable that must name a folder or a file is unset, or is not an absolute path. */
export class InvalidPath extends Error {
  override readonly name = "InvalidPath";
  /** The way to mend it. */
  readonly hint: string;

  constructor(detail: string, hint: string) {
    super(detail);
    this.hint = hint;
  }
}

/** The configuration file: `MESH_CONFIG`, or `$XDG_CONFIG_HOME/mesh/config.yaml` by default. */
export function configPath(env: Env): string {
  return meshVariable(env, "MESH_CONFIG") ?? `${configHome(env)}/mesh/config.yaml`;
}

/** The state directory: `MESH_STATE`, or `$XDG_STATE_HOME/mesh` by default. */
export function statePath(env: Env): string {
  return meshVariable(env, "MESH_STATE") ??
    `${xdgFolder(env, "XDG_STATE_HOME") ?? homePath(env, ".local", "state")}/mesh`;
}

/** Throws `InvalidPath` unless the environment says where the configuration and the state are. */
export function mustHavePaths(env: Env): void {
  configPath(env);
  statePath(env);
}

/** `XDG_CONFIG_HOME`, or `~/.config` by default. */
export function configHome(env: Env): string {
  return xdgFolder(env, "XDG_CONFIG_HOME") ?? homePath(env, ".config");
}

/**
 * A folder of the XDG Base Directory Specification; undefined if it is not set. The specification
 * requires relative paths to be ignored.
 */
export function xdgFolder(env: Env, name: string): string | undefined {
  const path = env[name] ?? "";
  return path.startsWith("/") ? path : undefined;
}

/**
 * A path that only mesh reads. A relative path is refused: the daemon and the hooks run in
 * different folders than the command, so each would find another file.
 */
function meshVariable(env: Env, name: string): string | undefined {
  const path = env[name];
  if (!path) return undefined;
  if (path.startsWith("/")) return path;
  throw new InvalidPath(
    `${name} is "${path}", which is a relative path`,
    `set ${name} to an absolute path, or unset it`,
  );
}

/**
 * A file that exists while an urgent message waits for an agent of this kind at work. The hooks
 * that run after each tool call start `mesh` only then.
 */
export function markerPath(state_dir: string, agent: string): string {
  return `${state_dir}/urgent/${agent}`;
}

/** A path in the user's home folder. */
export function homePath(env: Env, ...names: readonly string[]): string {
  const home = env["HOME"] ?? "";
  if (!home.startsWith("/")) {
    const found = home === "" ? "HOME is not set" : `HOME is "${home}", which is a relative path`;
    throw new InvalidPath(found, "set HOME to the absolute path of your home folder");
  }
  return [home.endsWith("/") ? home.slice(0, -1) : home, ...names].join("/");
}

/**
 * Set to `off` for an agent that is a peer by other means than its hooks, as with `mesh run --acp`.
 * Its hooks and its plugin stay silent, so that it is not a second peer.
 */
export const HOOKS_VARIABLE = "MESH_HOOKS";

export function hooksAreOff(env: Env): boolean {
  return env[HOOKS_VARIABLE] === "off";
}

/** Reads a text file; undefined if the file does not exist. */
export function readTextOrNothing(path: string): string | undefined {
  return onFile("read", path, () =>
    unlessMissing(() => {
      // Opening a named pipe would wait for its writer.
      if (Deno.statSync(path).isFifo) {
        throw new FileRefusal(`Cannot read "${path}"`, "it is a named pipe", "move it away");
      }
      return Deno.readTextFileSync(path);
    }));
}

/** Removes a file if it exists. If it is a symbolic link, removes the link and not its target. */
export function removeIfPresent(path: string): void {
  unlessMissing(() => Deno.removeSync(path));
}

export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[?::1\]?|::ffff:127(\.\d+){3})$/i.test(host);
}
