/**
 * Session files of real agents, recorded offline with a scripted model, without the records that no
 * reader looks at. The sessions worked in the folder `/home/sam/api`.
 */

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The text of a recorded file. */
export function readRecording(name: string): string {
  return Deno.readTextFileSync(fileURLToPath(new URL(`./${name}`, import.meta.url)));
}

/** A folder for one test, which is removed at its end. */
export class SessionsFolder implements Disposable {
  readonly path = Deno.makeTempDirSync({ prefix: "mesh-sessions-" });

  /** Writes a file below the folder, with the folders in between. */
  write(path: string, text: string): string {
    const file = join(this.path, path);
    Deno.mkdirSync(dirname(file), { recursive: true });
    Deno.writeTextFileSync(file, text);
    return file;
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}
