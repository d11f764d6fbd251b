/** `mesh machines invite`, `allow` and `refuse`: the machines that the served bus accepts. */

import { busPaths, readNetworkSecret } from "../../../daemon/app/membership/files.ts";
import { isPublicKey } from "../../../daemon/machines/nats/nkeys.ts";
import { DAEMON_ID } from "../../../daemon/machines/nats/names.ts";
import {
  addMachine,
  removeMachine,
  type ServerMachine,
} from "../../../daemon/machines/nats/server_config.ts";
import { type Env, readTextOrNothing } from "../../../daemon/host/paths.ts";
import type { Clock } from "kit/core/clock.ts";
import { answerCommand, type Args, type CommandContext } from "../../command/command.ts";
import { CommandError, UsageError } from "../../client/failures.ts";
import { readSettings } from "../../client/settings.ts";
import { styled } from "../../output/terminal.ts";
import { writeInvitation } from "./invitation.ts";
import { mustBeName, withPlainErrors } from "./membership.ts";
import { readAuthority } from "./certificates.ts";
import {
  addressOf,
  mustReadServer,
  readServer,
  type ServerSettings,
  writeServer,
} from "./server_files.ts";
import { prepareServer, reloadServer } from "./server_process.ts";

export const INVITE_COMMAND = answerCommand({
  usage: "machines invite <name>",
  needs: "this machine",
  summary: "Print the command with which another machine joins this network",
  details:
    "The command holds the network secret: pass it on as you would a password. It stays valid; on " +
    "its own it lets nobody in, because the server takes only machines that `mesh machines allow` " +
    "names.",
  example: "mesh machines invite buildbox",
  call: invite,
  show: ({ command, name, is_served_here }, { terminal }) => {
    terminal.print(`Run this on ${name}. It holds the secret of the network: show it nobody else.`);
    terminal.print();
    terminal.print(command);
    terminal.print();
    const where = is_served_here ? "here" : "where the bus is served";
    terminal.print(
      `It prints a line with \`mesh machines allow …\`: run that ${where}. Until then ${name} is ` +
        "not let in. ",
      "The invitation stays valid; `mesh machines refuse` shuts a machine out.",
    );
  },
});

export const ALLOW_COMMAND = answerCommand({
  usage: "machines allow <key> <daemon-id> <name>",
  needs: "this machine",
  summary: "Let a machine connect to the bus that this machine serves",
  details:
    "`mesh machines join` prints the whole line. The machine may then write to every other one, " +
    "but only in its own name.",
  example: "mesh machines allow UABC… dm-3f9c04d1a2b7 buildbox",
  call: allow,
  show: ({ machine, is_running }, { terminal }) => {
    const { name, daemon_id } = machine;
    terminal.print(styled("green", "Allowed"), ` ${name} (${daemon_id})`);
    terminal.print(
      is_running
        ? `The server knows it now; ${name} connects within a minute.`
        : "The server is not running; start it with `mesh machines serve`.",
    );
  },
});

export const REFUSE_COMMAND = answerCommand({
  usage: "machines refuse <name>",
  needs: "this machine",
  summary: "Take a machine off the bus that this machine serves; it is disconnected at once",
  example: "mesh machines refuse buildbox",
  call: refuse,
  show: ({ machine, is_running }, { terminal }) => {
    const { name, daemon_id } = machine;
    terminal.print(styled("green", "Refused"), ` ${name} (${daemon_id})`);
    terminal.print(
      is_running
        ? "It is disconnected."
        : "The server is not running; it will not know the machine when it starts.",
    );
    terminal.print(
      "Its peers and what waits for it stay until: ",
      styled("cyan", `mesh machines forget ${name}`),
      ", on each machine.",
    );
  },
});

/** Every machine of the network has the data for an invitation; only the address may differ. */
async function invite({ env }: CommandContext, args: Args) {
  const name = mustBeName(args.text("name"));
  const secret = await withPlainErrors(() => readNetworkSecret(env));
  const served = readServer(env);
  if (served?.port === 0) {
    throw new CommandError("The server has never run; start it with: mesh machines serve");
  }
  const url = served ? addressOf(served) : readSettings(env)["mesh.bus.url"];
  if (secret === undefined || url === undefined) {
    throw new CommandError(
      "This machine is in no network. Begin one with `mesh machines serve`, or join one with " +
        "`mesh machines join`",
    );
  }
  const ca = served ? readAuthority(env) : readTextOrNothing(busPaths(env).ca);
  const invitation = writeInvitation({ version: 1, url, ...(ca && { ca }), secret, name });
  return { name, command: `mesh machines join ${invitation}`, url, is_served_here: !!served };
}

async function allow({ env, clock }: CommandContext, args: Args) {
  const public_key = args.text("key"), daemon_id = args.text("daemon-id");
  if (!await isPublicKey(public_key)) {
    const form = "U and 55 letters and digits";
    throw new UsageError(`"${public_key}" is not the public key of a user: ${form}`);
  }
  if (!DAEMON_ID.test(daemon_id)) {
    throw new UsageError(`"${daemon_id}" is not a daemon id: dm- and 12 digits from 0 to f`);
  }
  const machine = { public_key, daemon_id, name: mustBeName(args.text("name")) };
  const server = mustReadServer(env);
  mustBeFree(server.machines, machine);
  await writeServer(env, { ...server, machines: addMachine(server.machines, machine) });
  return { machine, is_running: await updateServer(env, clock, server) };
}

/** Reloads the running server with the new list, and updates a store of an earlier version. */
async function updateServer(env: Env, clock: Clock, settings: ServerSettings): Promise<boolean> {
  const isRunning = await reloadServer(env, clock);
  if (isRunning) await prepareServer(env, settings, "allow");
  return isRunning;
}

/** The server proves a machine by its key, so two machines cannot have the same one. */
function mustBeFree(machines: readonly ServerMachine[], machine: ServerMachine): void {
  const others = machines.filter(({ daemon_id }) => daemon_id !== machine.daemon_id);
  const sameKey = others.find(({ public_key }) => public_key === machine.public_key);
  if (sameKey) {
    throw new CommandError(`${sameKey.name} (${sameKey.daemon_id}) has this key already`);
  }
  const lower = machine.name.toLowerCase();
  const sameName = others.find(({ name }) => name.toLowerCase() === lower);
  if (!sameName) return;
  throw new CommandError(
    `${sameName.daemon_id} is called ${sameName.name} already; give another name, also with ` +
      "`mesh config set mesh.bus.name` on the new machine, or refuse the old one first",
  );
}

async function refuse({ env, clock }: CommandContext, args: Args) {
  const wanted = args.text("name");
  const server = mustReadServer(env);
  const machine = findMachine(server.machines, wanted);
  if (!machine) {
    const names = server.machines.map(({ name }) => name).join(", ");
    throw new CommandError(`Unknown machine: "${wanted}"; the server knows: ${names}`);
  }
  const machines = removeMachine(server.machines, machine.daemon_id);
  await writeServer(env, { ...server, machines });
  return { machine, is_running: await updateServer(env, clock, server) };
}

function findMachine(machines: readonly ServerMachine[], wanted: string) {
  const isWanted = (text: string) => text.toLowerCase() === wanted.toLowerCase();
  return machines.find(({ daemon_id, name }) => daemon_id === wanted || isWanted(name));
}
