/** Shared by `join` and `serve`: the daemon's id, writing the membership, and the restart. */

import { randomIds } from "kit/core/clock.ts";
import { UnusableBusFile } from "../../../daemon/app/membership/files.ts";
import {
  type JoinReport,
  type Membership,
  SettingsRefused,
  writeMembership,
} from "../../../daemon/app/membership/joining.ts";
import { UnreadableConfig } from "../../../daemon/app/config_file.ts";
import { MachineName, nameOfHost } from "../../../daemon/app/membership/settings.ts";
import type { WireResponse } from "kit/http/client.ts";
import { listMachines } from "protocol/generated/endpoints.ts";
import { getHealth, restartDaemon, startDaemon } from "../../client/daemon_process.ts";
import { readClientSettings } from "../../client/settings.ts";
import { CommandError, UsageError } from "../../client/failures.ts";
import type { CommandContext } from "../../command/command.ts";

/** Time limit for the daemon to connect. The command then says why it has not. */
const CONNECT_MS_MAX = 10_000;
const POLL_INTERVAL_MS = 250;

type Bus = WireResponse<typeof listMachines>["bus"];

/** The id of this machine's daemon, which is started if it does not run. */
export async function daemonIdOf(context: CommandContext): Promise<string> {
  const running = await getHealth(context.daemon);
  if (running) return running.daemon_id;
  await startDaemon(context);
  const started = await getHealth(context.connect(readClientSettings));
  if (started) return started.daemon_id;
  throw new CommandError("The daemon was started, but does not answer; see `mesh logs`");
}

/** Writes files and settings; what they refuse becomes an error of the command. */
export async function join({ env }: CommandContext, membership: Membership): Promise<JoinReport> {
  return await withPlainErrors(() => writeMembership(env, randomIds, membership));
}

/** Rethrows errors of the files and the settings as errors of the command. */
export async function withPlainErrors<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isPlain = [UnusableBusFile, SettingsRefused, UnreadableConfig].some((kind) =>
      error instanceof kind
    );
    if (!(isPlain && error instanceof Error)) throw error;
    throw new CommandError(`Nothing was changed: ${error.message}`);
  }
}

/** Restarts the daemon, which reads its settings at its start, and waits until it is connected. */
export async function restartAndWait(context: CommandContext): Promise<Bus> {
  const { clock } = context;
  await restartDaemon(context);
  const { call } = context.connect(readClientSettings);
  const deadline = clock.monotonic() + CONNECT_MS_MAX;
  for (;;) {
    const { bus } = await call(listMachines, {});
    if (bus.status === "connected" || clock.monotonic() >= deadline) return bus;
    // A refusal of the server stays until a person does something.
    if (bus.status === "down" && bus.reason !== null) return bus;
    await clock.sleep(POLL_INTERVAL_MS);
  }
}

/** The name of this machine, by its host name. */
export function defaultName(): string {
  return nameOfHost(Deno.hostname());
}

export function mustBeName(name: string): string {
  if (MachineName.safeParse(name).success) return name;
  throw new UsageError(`"${name}" is not ${MachineName.description}`);
}
