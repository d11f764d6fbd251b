/** `installed.json`, beside the parts of a mesh that was installed from the sources. */

/** Its name. */
export const INSTALLED_FILE = "installed.json";

/** Its contents, which `deno task install` writes. */
export interface Installed {
  /** The launcher, which later installations keep. */
  readonly program: string;
  /** The folder of the sources. */
  readonly sources: string;
  /** The version of Deno that built it. */
  readonly deno: string;
}
