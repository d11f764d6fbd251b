/**
 * Paths of configuration and state, and private files. Imports nothing, so that hooks start fast.
 */

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

/** A path in the user's home folder. */
export function homePath(env: Env, ...names: readonly string[]): string {
  const home = env["HOME"] ?? "";
  return [home.endsWith("/") ? home.slice(0, -1) : home, ...names].join("/");
}

/** Undefined if there is no such file. */
export function readTextOrNothing(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * Writes a file atomically, readable by this user only. Follows no symbolic link at either name.
 */
export function writePrivately(path: string, text: string): void {
  const fresh = `${path}.new`;
  removeIfPresent(fresh); // Left by a crash, or a link that somebody planted.
  Deno.writeTextFileSync(fresh, text, { mode: 0o600, createNew: true });
  Deno.renameSync(fresh, path);
}

/** Removes a file if it exists. Of a symbolic link, removes the link, not its target. */
export function removeIfPresent(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[?::1\]?|::ffff:127(\.\d+){3})$/i.test(host);
}
