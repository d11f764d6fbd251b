/** Where things are, and which addresses are ours. It imports nothing, for the hooks' sake. */

/** The part of the environment that decides where things are. */
export type Env = Readonly<Record<string, string>>;

/** Where the configuration is: `MESH_CONFIG`, else `$XDG_CONFIG_HOME/mesh/config.yaml`. */
export function configPath(env: Env): string {
  const home = env["XDG_CONFIG_HOME"] || `${env["HOME"] ?? ""}/.config`;
  return env["MESH_CONFIG"] || `${home}/mesh/config.yaml`;
}

/** Where state is kept: `MESH_STATE`, else `$XDG_STATE_HOME/mesh`. */
export function statePath(env: Env): string {
  const home = env["XDG_STATE_HOME"] || `${env["HOME"] ?? ""}/.local/state`;
  return env["MESH_STATE"] || `${home}/mesh`;
}

/** A path in the user's home folder. */
export function homePath(env: Env, ...names: readonly string[]): string {
  const home = env["HOME"] ?? "";
  return [home.endsWith("/") ? home.slice(0, -1) : home, ...names].join("/");
}

/** A file that is not there is an empty one. */
export function readTextOrNothing(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Written whole or not at all, and for nobody else's eyes. No link at either name is followed. */
export function writePrivately(path: string, text: string): void {
  const fresh = `${path}.new`;
  removeIfPresent(fresh); // What a crash left, or a link that somebody planted.
  Deno.writeTextFileSync(fresh, text, { mode: 0o600, createNew: true });
  Deno.renameSync(fresh, path);
}

/** A file that is not there is removed already. Of a link the link goes, and not its target. */
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
