/** The file from which kitty loads the daemon's program (`kitten.ts`). */

import { join } from "kit/core/path.ts";
import { KITTEN } from "./kitten.ts";

export class KittenFile {
  readonly #folder: string;
  #isWritten = false;

  /** `folder` is private (0700): whoever writes there has kitty run any program. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The path of the file, which is written when it is first needed. Throws if it cannot be. */
  path(): string {
    const path = join(this.#folder, "mesh_panes.py");
    if (this.#isWritten) return path;
    const draft = `${path}.${Deno.pid}`;
    Deno.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    Deno.writeTextFileSync(draft, KITTEN, { mode: 0o600 });
    Deno.renameSync(draft, path); // kitty may read the file at this moment.
    this.#isWritten = true;
    return path;
  }

  /** Has the file written again: after an error of kitty, it may be gone. */
  renew(): void {
    this.#isWritten = false;
  }
}
