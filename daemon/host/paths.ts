/** Paths of configuration and state. Imports nothing, so that hooks start fast. */

/** The environment variables that decide the paths. */
export type Env = Readonly<Record<string, string>>;

/** The configuration file: `MESH_CONFIG`, else `$XDG_CONFIG_HOME/mesh/config.yaml`. */
export function configPath(env: Env): string {
  const home = env["XDG_CONFIG_HOME"] || `${env["HOME"] ?? ""}/.config`;
  return env["MESH_CONFIG"] || `${home}/mesh/config.yaml`;
}

/** The state directory: `MESH_STATE`, else `$XDG_STATE_HOME/mesh`. */
export function statePath(env: Env): string {
  const home = env["XDG_STATE_HOME"] || `${env["HOME"] ?? ""}/.local/state`;
  return env["MESH_STATE"] || `${home}/mesh`;
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

/** Runs an operation; undefined if it fails with an expected error. */
export function unlessError<T>(
  isExpected: (error: unknown) => boolean,
  operation: () => T,
): T | undefined {
  try {
    return operation();
  } catch (error) {
    if (isExpected(error)) return undefined;
    throw error;
  }
}

/** Runs a file operation; undefined if the file does not exist. */
export function unlessMissing<T>(operation: () => T): T | undefined {
  return unlessError((error) => error instanceof Deno.errors.NotFound, operation);
}

/** Reads a text file; undefined if the file does not exist. */
export function readTextOrNothing(path: string): string | undefined {
  return unlessMissing(() => Deno.readTextFileSync(path));
}

/** Removes a file if it exists. If it is a symbolic link, removes the link and not its target. */
export function removeIfPresent(path: string): void {
  unlessMissing(() => Deno.removeSync(path));
}

export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[?::1\]?|::ffff:127(\.\d+){3})$/i.test(host);
}
