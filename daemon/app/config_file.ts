/** The configuration as a file that people write: changed a key at a time, comments kept. */

import { dirname } from "node:path";
import { type Document, isMap, parseDocument } from "yaml";
import { messageOf } from "kit/core/text.ts";
import { configPath, type Env, readTextOrNothing, writePrivately } from "../host/paths.ts";

/** The configuration is no YAML, or not of sections; it is left as it is. */
export class UnreadableConfig extends Error {
  override readonly name = "UnreadableConfig";
}

export interface ConfigFile {
  readonly path: string;
  /** What it says now; undefined when there is none. */
  readonly before: string | undefined;
  readonly document: Document;
}

/** The file that `MESH_CONFIG` or the home directory names; one that is not there is empty. */
export function openConfig(env: Env): ConfigFile {
  const path = configPath(env);
  const before = read(path);
  const document = parseDocument(before ?? "");
  const [mistake] = document.errors;
  if (mistake) throw new UnreadableConfig(`Cannot read ${path}: not YAML: ${mistake.message}`);
  return { path, before, document };
}

function read(path: string): string | undefined {
  try {
    return readTextOrNothing(path);
  } catch (error) {
    const why = messageOf(error);
    throw new UnreadableConfig(`Cannot read ${path}: ${why}`);
  }
}

/** Puts a value at a dotted key, in the section that is there, or in a new one. */
export function setKey({ path, document }: ConfigFile, key: string, value: unknown): void {
  const segments = key.split(".");
  if (document.contents !== null && !isMap(document.contents)) {
    throw new UnreadableConfig(`Cannot change ${path}: it is not made of keys and values`);
  }
  // A file may also say `daemon.port: 9000` in one line.
  if (document.has(key)) return document.set(key, value);
  for (let depth = 1; depth < segments.length; depth++) {
    const section = segments.slice(0, depth);
    const existing = document.getIn(section);
    if (existing === null) document.deleteIn(section);
    else if (existing !== undefined && !isMap(existing)) {
      throw new UnreadableConfig(`Cannot change ${path}: ${section.join(".")} is no section`);
    }
  }
  document.setIn(segments, value);
}

/** Writes it whole, for its owner's eyes only; the directory is made where it is wanted. */
export function saveConfig({ path, before, document }: ConfigFile): void {
  if (before === undefined) Deno.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writePrivately(
    before === undefined ? path : Deno.realPathSync(path),
    document.toString({ lineWidth: 0 }),
  );
}
