/** Changes single keys of the configuration file and keeps its comments. */

import { dirname } from "kit/core/path.ts";
import { type Document, isMap, isScalar, parseDocument, type YAMLMap } from "yaml";
import { messageOf } from "kit/core/text.ts";
import { makeDirectory, writePrivately } from "kit/host/durable_files.ts";
import { fileRefusal, mustBeChangeable } from "kit/host/file_errors.ts";
import { configPath, type Env, readTextOrNothing } from "../host/paths.ts";

/** The file is not YAML, or its structure is wrong. It is not changed. */
export class UnreadableConfig extends Error {
  override readonly name = "UnreadableConfig";
}

export interface ConfigFile {
  readonly path: string;
  /** Its present text; undefined if there is no file. */
  readonly before: string | undefined;
  readonly document: Document;
}

/** Opens the configuration file of the environment. A missing file counts as empty. */
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
    const refusal = fileRefusal(error);
    const why = refusal ? `${refusal.reason}; ${refusal.hint}` : messageOf(error);
    throw new UnreadableConfig(`Cannot read ${path}: ${why}`);
  }
}

/** Sets a dotted key in its section, which is created if it is missing. */
export function setKey({ path, document }: ConfigFile, key: string, value: unknown): void {
  const segments = key.split(".");
  if (document.contents !== null && !isMap(document.contents)) {
    throw new UnreadableConfig(`Cannot change ${path}: it is not a map of keys and values`);
  }
  // A file may also have a dotted key, such as `daemon.port: 9000`.
  if (document.has(key)) return document.set(key, value);
  for (let depth = 1; depth < segments.length; depth++) {
    const section = segments.slice(0, depth);
    const existing = document.getIn(section);
    if (existing === null) document.setIn(section, document.createNode({}));
    else if (existing !== undefined && !isMap(existing)) {
      throw new UnreadableConfig(`Cannot change ${path}: "${section.join(".")}" is not a section`);
    }
  }
  document.setIn(segments, value);
}

/** Removes a dotted key, and its section if not even a comment is left. True if it was set. */
export function deleteKey({ document }: ConfigFile, key: string): boolean {
  if (!isMap(document.contents)) return false;
  if (document.has(key)) return document.delete(key);
  const segments = key.split(".");
  if (!document.hasIn(segments)) return false;
  document.deleteIn(segments);
  for (let depth = segments.length - 1; depth > 0; depth--) {
    const section = document.getIn(segments.slice(0, depth));
    if (!isMap(section) || section.items.length > 0) break;
    const path = segments.slice(0, depth);
    const parent = depth === 1 ? document.contents : document.getIn(path.slice(0, -1));
    if (isMap(parent) && hasComment(parent, segments[depth - 1], section)) {
      document.setIn(path, document.createNode(null));
      break;
    }
    document.deleteIn(path);
  }
  return true;
}

/** True if a comment is in a section or above it; the parent may hold that of the first section. */
function hasComment(parent: YAMLMap, name: string | undefined, section: YAMLMap): boolean {
  const at = parent.items.findIndex(({ key }) => isScalar(key) && key.value === name);
  const key = parent.items[at]?.key;
  const above = isScalar(key) && key.commentBefore || at === 0 && parent.commentBefore;
  return Boolean(above || section.commentBefore || section.comment);
}

/** Writes the file with mode 0600; creates its directory if it is missing. */
export function saveConfig({ path, before, document }: ConfigFile): void {
  if (before === undefined) makeDirectory(dirname(path));
  else mustBeChangeable(path);
  writePrivately(
    before === undefined ? path : Deno.realPathSync(path),
    document.toString({ lineWidth: 0 }),
  );
}
