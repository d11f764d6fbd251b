/** `mesh machines renew-identity`: gives a copied machine an identity of its own. */

import { randomIds } from "kit/core/clock.ts";
import { join as joinPath } from "kit/core/path.ts";
import {
  expandHome,
  readNetworkSecret,
  removeBusFile,
} from "../../../daemon/app/membership/files.ts";
import { readTextOrNothing, statePath } from "../../../daemon/host/paths.ts";
import { listMachines } from "protocol/generated/endpoints.ts";
import { getHealth, stopDaemon } from "../../client/daemon_process.ts";
import { CommandError } from "../../client/failures.ts";
import { readSettings } from "../../client/settings.ts";
import { answerCommand, type Args, type CommandContext } from "../../command/command.ts";
import { styled } from "../../output/terminal.ts";
import { daemonIdOf, join, mustBeName, restartAndWait, withPlainErrors } from "./membership.ts";
import { showConnection } from "./views.ts";
import { unlessMissing } from "kit/host/file_errors.ts";

export const RENEW_COMMAND = answerCommand({
  usage: "machines renew-identity",
  needs: "this machine",
  summary: "Give this machine a new daemon id and new keys, because it is a copy of another one",
  details:
    "For a cloned virtual machine or a copied home: two daemons cannot have one identity, and the " +
    "one that was connected first keeps it. Messages and settings stay, and peers get new ids. " +
    "What waited for " +
    "other machines when the copy was made is left to the other daemon, which sends it. The bus " +
    "must be told of the new machine: the command prints the line for its operator.",
  flags: {
    "--name <name>": "the name of this machine in the network, by default the old one and 4 digits",
    "--no-restart": "leave the daemon stopped; it has the new identity at its next start",
    "--force": "also where no other daemon with this identity was seen",
  },
  example: "mesh machines renew-identity --name laptop-2",
  call: renew,
  show: ({ before, daemon_id, name, allow, bus }, { terminal }) => {
    terminal.print(styled("green", "Renewed"), `: ${before} is now ${daemon_id}`);
    if (name === null) return;
    terminal.printFields({ "name in the network": name });
    if (allow !== null && bus?.status !== "connected") {
      terminal.print("On the machine that serves the bus, or by its operator:");
      terminal.print("  ", styled("cyan", allow));
    }
    if (bus) showConnection(terminal, bus);
  },
});

async function renew(context: CommandContext, args: Args) {
  const { env, clock, daemon } = context;
  const wanted = args.get("name");
  if (wanted !== undefined) mustBeName(wanted);
  const secret = await withPlainErrors(() => readNetworkSecret(env));
  const health = await getHealth(daemon);
  const path = joinPath(statePath(env), "mesh.db");
  if (!args.flag("force")) await mustBeCopy(context, health);
  await stopDaemon(context);
  if (!unlessMissing(() => Deno.statSync(path))) {
    throw new CommandError(`There is no identity to renew: "${path}" does not exist`);
  }
  const { renewDatabase } = await import("../../../daemon/app/membership/renewal.ts");
  const { before, daemon_id } = renewDatabase(path, { clock, ids: randomIds });
  const settings = readSettings(env);
  const url = settings["mesh.bus.url"];
  if (secret === undefined || url === undefined) {
    if (args.flag("restart")) await daemonIdOf(context); // It was stopped for this.
    return { before, daemon_id, name: null, allow: null, bus: null };
  }
  for (const file of ["machine_keys", "user_seed"] as const) removeBusFile(env, file);
  const { "mesh.bus.name": known = "machine", "mesh.bus.ca": ca, "mesh.bus.creds": creds } =
    settings;
  const name = wanted ?? `${known.slice(0, 59)}-${daemon_id.slice(-4)}`;
  const { user_key } = await join(context, {
    url,
    name,
    network_secret: secret,
    ca: ca === undefined ? undefined : readTextOrNothing(expandHome(env, ca)),
    creds,
    share: undefined,
  });
  const allow = user_key === null ? null : `mesh machines allow ${user_key} ${daemon_id} ${name}`;
  const bus = args.flag("restart") ? await restartAndWait(context) : null;
  return { before, daemon_id, name, allow, bus };
}

/** Refuses to run on the original machine: a new identity would remove it from the network. */
async function mustBeCopy(
  { call }: CommandContext,
  health: Awaited<ReturnType<typeof getHealth>>,
): Promise<void> {
  if (!health) {
    throw new CommandError(
      "The daemon is not running, so mesh cannot tell whether another daemon uses this machine's " +
        "identity. Start it with `mesh up`, or pass --force",
    );
  }
  const { bus } = await call(listMachines, {});
  if (bus.identity_in_use?.this_one === "refused") return;
  if (/identity of its own/.test(health.relay.last_error ?? "")) return;
  throw new CommandError(
    bus.identity_in_use
      ? `This daemon was connected first and keeps the identity; run the command at the other one ` +
        `(${bus.identity_in_use.place}), or pass --force`
      : "No other daemon with the identity of this machine was seen; pass --force to renew it anyway",
  );
}
