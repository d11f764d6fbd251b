/** Writes the files of an agent's home, with the folders that lead to them. */

import { dirname } from "node:path";

export function writeText(path: string, text: string): void {
  Deno.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  Deno.writeTextFileSync(path, text, { mode: 0o600 });
}

export function writeJson(path: string, json: unknown): void {
  writeText(path, JSON.stringify(json, null, 2));
}
