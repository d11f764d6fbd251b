/** The files of `mesh machines serve` in the state directory: the machines, keys and settings. */

import * as z from "zod";
import { join } from "kit/core/path.ts";
import { makeDirectory, writePrivately } from "kit/host/durable_files.ts";
import { tryJson } from "kit/core/text.ts";
import { busPaths } from "../../../daemon/app/membership/files.ts";
import { makeUserKey, publicKeyOf, type UserKey } from "../../../daemon/machines/nats/nkeys.ts";
import { serverConfig } from "../../../daemon/machines/nats/server_config.ts";
import {
  type Env,
  isLoopback,
  readTextOrNothing,
  removeIfPresent,
} from "../../../daemon/host/paths.ts";
import { startTimeOf } from "../../../daemon/host/processes.ts";
import { CommandError } from "../../client/failures.ts";

const ServerSettings = z.object({
  /** 0 until the server has picked one. */
  port: z.number().int(),
  /** The names and addresses in the certificate; the first one is in invitations. */
  hosts: z.array(z.string()).min(1),
  /** The folder in which the server stores the messages for machines. */
  dir: z.string(),
  machines: z.array(z.object({
    daemon_id: z.string(),
    name: z.string(),
    public_key: z.string(),
  })),
});
export type ServerSettings = z.output<typeof ServerSettings>;

const RunningServer = z.object({ pid: z.number().int().positive(), started: z.string() });
export type RunningServer = z.output<typeof RunningServer>;

export function serverPaths(env: Env) {
  const directory = busPaths(env).server;
  return {
    directory,
    settings: join(directory, "server.json"),
    running: join(directory, "running.json"),
    config: join(directory, "nats.conf"),
    log: join(directory, "nats.log"),
    store: join(directory, "store"),
    admin_seed: join(directory, "admin.nk"),
    authority_key: join(directory, "authority.key"),
    authority: join(directory, "authority.pem"),
    key: join(directory, "server.key"),
    certificate: join(directory, "server.pem"),
  } as const;
}

/** Undefined where no bus was ever served from this state directory. */
export function readServer(env: Env): ServerSettings | undefined {
  const path = serverPaths(env).settings;
  const text = readTextOrNothing(path);
  if (text === undefined) return undefined;
  const settings = ServerSettings.safeParse(tryJson(text));
  if (settings.success) return settings.data;
  throw new CommandError(`"${path}" is damaged; restore it from a backup, or remove it`);
}

export function mustReadServer(env: Env): ServerSettings {
  const server = readServer(env);
  if (server) return server;
  throw new CommandError(
    "This machine serves no bus. Run this on the machine that does, or begin with: " +
      "mesh machines serve",
  );
}

/** Writes the settings, and the configuration of the server that follows from them. */
export async function writeServer(env: Env, settings: ServerSettings): Promise<void> {
  const paths = serverPaths(env);
  makeDirectory(paths.directory);
  const { public_key } = await ensureAdmin(env);
  const { port, hosts, dir, machines } = settings;
  const text = serverConfig({
    server_name: "mesh",
    // A server for this machine alone cannot be reached from outside.
    host: hosts.every(isLoopback) ? "127.0.0.1" : "0.0.0.0",
    port: port === 0 ? -1 : port,
    tls: { cert: paths.certificate, key: paths.key },
    admin_key: public_key,
    machines,
    store_dir: dir,
  });
  writePrivately(paths.config, text);
  writePrivately(paths.settings, `${JSON.stringify(settings, undefined, 2)}\n`);
}

/** The key of the server's administrator; made at the first call. */
export async function ensureAdmin(env: Env): Promise<UserKey> {
  const { admin_seed, directory } = serverPaths(env);
  const seed = readTextOrNothing(admin_seed)?.trim();
  if (seed === undefined) {
    const made = await makeUserKey();
    makeDirectory(directory);
    writePrivately(admin_seed, `${made.seed}\n`);
    return made;
  }
  const public_key = await publicKeyOf(seed);
  if (public_key !== undefined) return { seed, public_key };
  throw new CommandError(
    `"${admin_seed}" is damaged; remove it, then start the server again: mesh machines serve`,
  );
}

/** The server that this state directory started and that still runs. */
export function runningServer(env: Env): RunningServer | undefined {
  const text = readTextOrNothing(serverPaths(env).running);
  const running = RunningServer.safeParse(tryJson(text ?? ""));
  if (!running.success) return undefined;
  const { pid, started } = running.data;
  return startTimeOf(pid) === started ? running.data : undefined;
}

/** Records the process, with its start time because the system reuses pids. */
export function writeRunning(env: Env, pid: number): void {
  const started = startTimeOf(pid);
  if (started === undefined) return;
  writePrivately(serverPaths(env).running, JSON.stringify({ pid, started }));
}

export function removeRunning(env: Env): void {
  removeIfPresent(serverPaths(env).running);
}

/** The address for machines: by its first host, or on this machine itself. */
export function addressOf({ port, hosts: [host = "localhost"] }: ServerSettings): string {
  return `tls://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

export function localAddressOf({ port }: Pick<ServerSettings, "port">): string {
  return `tls://127.0.0.1:${port}`;
}
