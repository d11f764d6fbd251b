/** Reads a table of settings from a file and the environment, and reports all mistakes at once. */

import * as z from "zod";
import { nearest } from "./near_words.ts";
import { hideCredentials } from "./text.ts";

/** Shapes of settings by dotted key. The description of a shape says which values are allowed. */
type Settings = Record<string, z.ZodType>;
export type SettingsValues<T extends Settings> = { readonly [K in keyof T]: z.output<T[K]> };

/** The sources of the settings, not yet checked. */
export interface SettingsSources {
  /** The parsed file; `{}` if there is no file. */
  readonly file: unknown;
  readonly file_name: string;
  readonly env: Readonly<Record<string, string>>;
  /** Parses one environment value as YAML: `[a, b]`, `8` and `true` have their usual meaning. */
  readonly parse: (text: string) => unknown;
}

/** A value that must not be shown. Serializes as `[hidden]`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toJSON(): string {
    return "[hidden]";
  }
}

/** Origin of a setting's value: the path of the file, or the name of a variable. */
export interface SettingOrigin {
  readonly kind: "file" | "environment";
  readonly name: string;
}

interface RawSetting extends SettingOrigin {
  readonly value: unknown;
}

/**
 * Reads the settings. Throws one error with a line for each mistake: the key, the value and the
 * allowed values. `crossCheck` returns the mistakes in combinations of settings that are valid
 * alone.
 */
export function readSettings<const T extends Settings>(
  table: T,
  sources: SettingsSources,
  crossCheck: (read: Partial<SettingsValues<T>>) => string[] = () => [],
): SettingsValues<T> {
  const { found, mistakes } = collectAll(table, sources);
  const read = Object.entries(table).map(([key, shape]) => {
    const raw = found.get(key);
    const result = shape.safeParse(raw?.value);
    if (result.success) return [key, result.data];
    mistakes.push(describeMistake(key, raw, shape, result.error));
    return [key, undefined];
  });
  const settings = Object.fromEntries(read) as SettingsValues<T>;
  mistakes.push(...crossCheck(settings));
  if (mistakes.length === 0) return settings;
  throw new Error(`Cannot read the configuration:\n  ${mistakes.join("\n  ")}`);
}

/** The origin of each setting that is given; the others have their defaults. Checks nothing. */
export function originsOf(
  table: Settings,
  sources: SettingsSources,
): ReadonlyMap<string, SettingOrigin> {
  const { found } = collectAll(table, sources);
  // Without the values, which may be secrets.
  return new Map([...found].map(([key, { kind, name }]) => [key, { kind, name }]));
}

interface CollectState {
  readonly table: Settings;
  readonly sources: SettingsSources;
  readonly found: Map<string, RawSetting>;
  readonly mistakes: string[];
}

function collectAll(table: Settings, sources: SettingsSources): CollectState {
  const into: CollectState = { table, sources, found: new Map(), mistakes: [] };
  collect(sources.file, "", into);
  collectEnv(into);
  return into;
}

function collect(value: unknown, at: string, into: CollectState): void {
  const { table, sources, found, mistakes } = into;
  if (Object.hasOwn(table, at)) {
    return void found.set(at, { value, kind: "file", name: sources.file_name });
  }
  const known = at === "" || Object.keys(table).some((key) => key.startsWith(`${at}.`));
  if (!known) {
    const section = at.split(".").slice(0, -1).join(".");
    return void mistakes.push(
      `${at}: unknown key, found in ${sources.file_name}; allowed: ${namesUnder(table, section)}` +
        didYouMean(nearest(at, keysAndSections(table))),
    );
  }
  if (value === null || value === undefined) return;
  if (typeof value !== "object" || Array.isArray(value)) {
    const source = at === "" ? sources.file_name : at;
    return void mistakes.push(
      `${source}: found ${formatValue(value)}; allowed: a section with ${namesUnder(table, at)}`,
    );
  }
  for (const [key, inner] of Object.entries(value)) collect(inner, at ? `${at}.${key}` : key, into);
}

/** The keys, and the sections that hold them: `daemon.queue`. */
function keysAndSections(table: Settings): string[] {
  return Object.keys(table).flatMap((key) => {
    const segments = key.split(".");
    return segments.map((_, at) => segments.slice(0, at + 1).join("."));
  });
}

function didYouMean(meant: string | undefined): string {
  return meant === undefined ? "" : `. Did you mean ${meant}?`;
}

/** The variable that sets a key: `MESH_DAEMON__PORT` sets `daemon.port`. */
export function variableOf(key: string): string {
  return `MESH_${key.toUpperCase().replaceAll(".", "__")}`;
}

/**
 * The key that a variable sets. Undefined if the variable sets none. A variable with `__`, or with
 * the words of a key, always has a key, so that a misspelt one can be reported.
 */
export function keyOfVariable(table: Settings, variable: string): string | undefined {
  if (!variable.startsWith("MESH_")) return undefined;
  const words = variable.slice("MESH_".length).toLowerCase();
  const key = words.replaceAll("__", ".");
  const isKey = variable.includes("__") || Object.hasOwn(table, key) ||
    Object.keys(table).some((known) => known.replaceAll(".", "_") === words);
  return isKey ? key : undefined;
}

function collectEnv({ table, sources, found, mistakes }: CollectState): void {
  for (const [variable, text] of Object.entries(sources.env)) {
    const key = keyOfVariable(table, variable);
    if (key === undefined) continue;
    if (!Object.hasOwn(table, key)) {
      const meant = nearest(variable, Object.keys(table).map(variableOf));
      mistakes.push(
        `${key}: unknown key, found in ${variable}; allowed: see \`mesh config\`${
          didYouMean(meant)
        }`,
      );
      continue;
    }
    const value = tryParse(sources.parse, text);
    found.set(key, { value, kind: "environment", name: variable });
  }
}

function tryParse(parse: (text: string) => unknown, text: string): unknown {
  try {
    return parse(text);
  } catch {
    return text;
  }
}

/** The message of a check that has none of its own. */
const UNNAMED = "Invalid input";

function describeMistake(
  key: string,
  raw: RawSetting | undefined,
  shape: z.ZodType,
  error: z.ZodError,
) {
  const [issue] = error.issues;
  const why = issue?.code === "custom" && issue.message !== UNNAMED ? ` (${issue.message})` : "";
  const allowed = (descriptionOf(shape) ?? issue?.message ?? "") + why;
  const inner = error.issues[0]?.path.join(".");
  const at = inner ? `${key}.${inner}` : key;
  // A map such as `profiles` may hold a secret too.
  const hidden = /token|secret|\.headers$|\.env$|\.profiles$/.test(key);
  const value = hidden ? "a value" : formatValue(raw?.value);
  return `${at}: found ${value} (${raw?.name ?? "nowhere"}); allowed: ${allowed}`;
}

/** The description of a shape, or of the shape within a default or an option. */
function descriptionOf(shape: z.ZodType): string | undefined {
  if (shape.description !== undefined) return shape.description;
  const isWrapper = shape instanceof z.ZodDefault || shape instanceof z.ZodOptional;
  return isWrapper ? descriptionOf(shape.unwrap() as z.ZodType) : undefined;
}

function namesUnder(table: Settings, section: string): string {
  const prefix = section ? `${section}.` : "";
  const names = Object.keys(table).filter((key) => key.startsWith(prefix))
    .map((key) => key.slice(prefix.length).split(".")[0]);
  return [...new Set(names)].join(", ");
}

function formatValue(value: unknown): string {
  if (value === undefined) return "nothing";
  try {
    return JSON.stringify(
      value,
      (_, part) => typeof part === "string" ? hideCredentials(part) : part,
    );
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return "a value that contains itself"; // By an anchor of YAML.
  }
}
