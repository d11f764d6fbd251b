/** Writes the files of a fixture, with the folders that lead to them. */

import { dirname } from "node:path";

/** Each path with its text, or with a value that is written as JSON. */
export function writeFiles(files: Readonly<Record<string, unknown>>): void {
  for (const [path, content] of Object.entries(files)) {
    const text = typeof content === "string" ? content : JSON.stringify(content, null, 2);
    Deno.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    Deno.writeTextFileSync(path, text, { mode: 0o600 });
  }
}
