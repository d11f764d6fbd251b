/** The file from which kitty loads the daemon's program (`kitten.ts`). */

import { join } from "kit/core/path.ts";
import { messageOf } from "kit/core/text.ts";
import { type Failure, failure } from "../tmux/connection.ts";
import { KITTEN } from "./kitten.ts";

export class KittenFile {
  readonly #folder: string;
  #isWritten = false;

  /** `folder` is private (0700): a program that can write there can make kitty run any program. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The path of the file, which is written at the first use, and again if it is gone. */
  path(): { ok: true; path: string } | Failure {
    const path = join(this.#folder, "mesh_panes.py");
    try {
      if (!this.#isWritten || !exists(path)) this.#write(path);
      return { ok: true, path };
    } catch (error) {
      return failure("no_file", `Cannot write ${path}: ${messageOf(error)}`);
    }
  }

  #write(path: string): void {
    const draft = `${path}.${Deno.pid}`;
    Deno.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    Deno.writeTextFileSync(draft, KITTEN, { mode: 0o600 });
    Deno.renameSync(draft, path); // kitty may read the file at this moment.
    this.#isWritten = true;
  }
}

function exists(path: string): boolean {
  try {
    return Deno.lstatSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
