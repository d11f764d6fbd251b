/** Adds, recognizes and removes our MCP server in the `mcpServers` of an agent's settings. */

import { listAt, type MeshHooks, objectAt, withMember } from "./hooks/settings.ts";
import type { Edit, SetupPlan } from "./install.ts";
import {
  isObject,
  type Json,
  type JsonObject,
  Unchangeable,
  valueAt,
} from "./settings_files/json.ts";
import type { Argv } from "./settings_files/shell_words.ts";

/** The name under which agents see our tools, e.g. `mcp__mesh__ask`. */
export const SERVER_NAME = "mesh";

/** Members of our entry besides the command. Older versions wrote the same ones. */
type Members = Readonly<Record<string, Json>>;

/** The form in which an agent's `mcpServers` holds our server. */
export function meshServer(members: Members) {
  const programIn = (server: Json | undefined, { programs }: SetupPlan): Argv | undefined => {
    const argv = [valueAt(server, "command"), valueAt(server, "args")].flat();
    const program = programBefore(argv);
    if (!program || programs.includes(program)) return program;
    const hasForm = isObject(server) &&
      Object.keys(members).every((name) => Object.hasOwn(server, name));
    return hasForm && programs.isFormer(program) ? program : undefined;
  };
  return {
    /** Adds our server. Other servers stay, and so do the user's additions to ours. */
    install(settings: JsonObject, plan: SetupPlan): JsonObject {
      const servers = objectAt(settings, "mcpServers");
      const found = servers[SERVER_NAME];
      const isMesh = found !== undefined && programIn(found, plan) !== undefined;
      if (found !== undefined && !isMesh && !plan.replace) {
        throw new Unchangeable(foreignServer("mcpServers", found));
      }
      const { type, ...others } = members;
      const [command = "", ...args] = [...plan.mesh, "mcp"];
      const entry = { ...(type !== undefined && { type }), command, args, ...others };
      const next = isMesh && isObject(found)
        ? { ...found, ...missingIn(found, members), command, args }
        : entry;
      return { ...settings, mcpServers: { ...servers, [SERVER_NAME]: next } };
    },
    /** Removes our server, and restores another program's server that ours replaced. */
    remove(settings: JsonObject, plan: SetupPlan, original: JsonObject = {}): JsonObject {
      const { [SERVER_NAME]: found, ...others } = objectAt(settings, "mcpServers");
      if (found === undefined || !programIn(found, plan)) return settings;
      const replaced = valueAt(original, "mcpServers", SERVER_NAME);
      const isForeign = replaced !== undefined && !programIn(replaced, plan);
      const servers = isForeign ? { ...others, [SERVER_NAME]: replaced } : others;
      return withMember(settings, "mcpServers", servers);
    },
    /** The program of our server. */
    find(settings: JsonObject, plan: SetupPlan): readonly Argv[] {
      const program = programIn(valueAt(settings, "mcpServers", SERVER_NAME), plan);
      return program ? [program] : [];
    },
  };
}

/** The files of an agent that stores hooks and MCP servers in two files. */
export interface AgentFiles {
  readonly hooks: string;
  readonly server: string;
}

/** Our parts of a settings file. */
interface MeshParts {
  readonly hooks?: MeshHooks;
  readonly server?: ReturnType<typeof meshServer>;
  readonly permission?: ReturnType<typeof allowedTools>;
  readonly statusLine?: {
    install(settings: JsonObject): JsonObject;
    remove(settings: JsonObject): JsonObject;
  };
}

/** The list at `permissions.allow` with an entry for our tools, which the agent then runs unasked. */
export function allowedTools(entry: string) {
  const allowedIn = (settings: JsonObject) => {
    const permissions = objectAt(settings, "permissions");
    return { permissions, allow: listAt(permissions, "allow", "permissions.") };
  };
  return {
    install(settings: JsonObject): JsonObject {
      const { permissions, allow } = allowedIn(settings);
      if (allow.includes(entry)) return settings;
      return { ...settings, permissions: { ...permissions, allow: [...allow, entry] } };
    },
    /** Keeps an entry that the user had before. */
    remove(settings: JsonObject, original: JsonObject): JsonObject {
      const { permissions, allow } = allowedIn(settings);
      if (!allow.includes(entry) || allowedIn(original).allow.includes(entry)) return settings;
      const { allow: _, ...others } = permissions;
      const rest = allow.filter((allowed) => allowed !== entry);
      const next = rest.length > 0 ? { ...permissions, allow: rest } : others;
      return withMember(settings, "permissions", next);
    },
  };
}

/** The change of a JSON file that holds parts of ours. */
export function jsonEdit(path: string, plan: SetupPlan, parts: MeshParts): Edit {
  const { hooks, server, permission, statusLine } = parts;
  return {
    path,
    format: "json",
    add(before) {
      const settings = hooks?.install(before, plan) ?? before;
      const allowed = permission?.install(settings) ?? settings;
      const lined = statusLine?.install(allowed) ?? allowed;
      return server?.install(lined, plan) ?? lined;
    },
    remove(before, original) {
      const settings = hooks?.remove(before, plan) ?? before;
      const allowed = permission?.remove(settings, original) ?? settings;
      const lined = statusLine?.remove(allowed) ?? allowed;
      return server?.remove(lined, plan, original) ?? lined;
    },
    learn: (settings) => hooks?.learn(settings, plan),
    find: (settings) => ({
      hooks: hooks?.find(settings, plan) ?? [],
      servers: server?.find(settings, plan) ?? [],
    }),
  };
}

function missingIn(found: JsonObject, members: Members): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter(([name]) => !Object.hasOwn(found, name)),
  );
}

/** The words before `mcp`, if that is the last argument; otherwise undefined. */
export function programBefore(argv: readonly unknown[]): Argv | undefined {
  const words = argv.filter((word) => typeof word === "string");
  const isCommand = words.length === argv.length && words.length > 1 && words.at(-1) === "mcp";
  return isCommand ? words.slice(0, -1) : undefined;
}

/**
 * The refusal if another program's server has our name. Shows only the program, because its
 * arguments may hold secrets.
 */
export function foreignServer(section: string, server: unknown): string {
  const { command, args, url } = Object(server);
  const [program, ...others] = [command, args].flat().filter((word) => typeof word === "string");
  const operand = others.find((word) => /^@?[\w/.-]+$/.test(word) && !word.startsWith("-"));
  const shown = program === undefined
    ? URL.parse(String(url))?.origin ?? "without a command"
    : RUNNERS.test(program) && operand !== undefined
    ? `${program} ${operand}`
    : program;
  return `${section}.${SERVER_NAME} belongs to another program: ${shown}. Rename that server, or ` +
    "let mesh take its place: mesh setup AGENT --replace; uninstalling puts it back";
}

/** Programs that run the program named by their first operand. */
const RUNNERS = /(^|\/)(npx|bunx|uvx|node|deno|bun|python3?)$/;
