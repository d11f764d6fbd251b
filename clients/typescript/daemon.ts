/** Finds the running daemon and its token, by the same files and variables as the `mesh` command. */

import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import process from "node:process";
import { MeshUnreachable } from "./errors.ts";

export interface Endpoint {
  /** The address of the daemon, such as `http://127.0.0.1:8377`. */
  readonly url: string;
  readonly token: string | undefined;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Given values win. A restarted daemon may have another port, so this is called each time. */
export async function findDaemon(
  { url, token }: { url?: string | undefined; token?: string | undefined },
  env: Env = process.env,
): Promise<Endpoint> {
  return { url: url ?? await runningUrl(env), token: token ?? await configuredToken(env) };
}

async function runningUrl(env: Env): Promise<string> {
  const folder = pathIn(env, "MESH_STATE") ??
    join(xdgFolder(env, "XDG_STATE_HOME", ".local/state"), "mesh");
  const text = await read(join(folder, "daemon.json"));
  if (text !== undefined) {
    const { url, pid, process_started } = JSON.parse(text);
    if (typeof url === "string" && await isRunning(pid, process_started)) return url;
  }
  throw new MeshUnreachable("No daemon is running; start it with: mesh up");
}

/** Throws for a relative path, as the daemon does: both would resolve it to different folders. */
function pathIn(env: Env, name: string): string | undefined {
  const path = env[name];
  if (!path || isAbsolute(path)) return path || undefined;
  throw new MeshUnreachable(`${name} is "${path}", a relative path; set it to an absolute path`);
}

/**
 * A folder of the XDG Base Directory Specification, which requires relative paths to be ignored.
 */
function xdgFolder(env: Env, name: string, under_home: string): string {
  const path = env[name] ?? "";
  return isAbsolute(path) ? path : join(env["HOME"] ?? homedir(), under_home);
}

/**
 * True if the daemon that wrote the file still runs. If it has ended, another user's program could
 * listen at its address and would be sent the token.
 */
async function isRunning(pid: unknown, started: unknown): Promise<boolean> {
  if (process.platform !== "linux" || started === undefined) return true;
  const stat = await read(`/proc/${pid}/stat`) ?? "";
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] === started;
}

async function configuredToken(env: Env): Promise<string | undefined> {
  const given = env["MESH_DAEMON__AUTH_TOKEN"];
  if (given) return given;
  const file = pathIn(env, "MESH_CONFIG") ??
    join(xdgFolder(env, "XDG_CONFIG_HOME", ".config"), "mesh", "config.yaml");
  return tokenIn(await read(file) ?? "");
}

/**
 * `daemon.auth_token` in the configuration, on a line of its own: in the section `daemon`, or under
 * its dotted key. Another way to write it in YAML is not understood; then pass the token.
 */
export function tokenIn(yaml: string): string | undefined {
  const dotted = /^daemon\.auth_token:[ \t]+(\S.*)$/m.exec(yaml)?.[1];
  const section = /^daemon:[ \t]*(?:#.*)?\n((?:[ \t].*\n|[ \t]*\n|#.*\n)*)/m.exec(`${yaml}\n`)?.[1];
  const nested = /^[ \t]+auth_token:[ \t]+(\S.*)$/m.exec(section ?? "")?.[1];
  return scalarOf(dotted ?? nested ?? "");
}

/** The text of a YAML scalar: plain, or in quotes. */
function scalarOf(text: string): string | undefined {
  const double = /^"(?:[^"\\]|\\.)*"/.exec(text)?.[0];
  if (double !== undefined) return tryText(double);
  const single = /^'((?:[^']|'')*)'/.exec(text)?.[1];
  if (single !== undefined) return single.replaceAll("''", "'");
  return text.replace(/(?<!\s)\s+#[^]*/, "").trim() || undefined;
}

/** A text as JSON writes it; undefined for the escapes that only YAML has. */
function tryText(quoted: string): string | undefined {
  try {
    return JSON.parse(quoted);
  } catch {
    return undefined;
  }
}

async function read(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
