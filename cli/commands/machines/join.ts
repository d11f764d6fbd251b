/** `mesh machines join`: connects this machine with a network. */

import { randomIds } from "kit/core/clock.ts";
import { resolve } from "kit/core/path.ts";
import { hideCredentials } from "kit/core/text.ts";
import { readNetworkSecret } from "../../../daemon/app/membership/files.ts";
import { makeNetworkSecret, type Membership } from "../../../daemon/app/membership/joining.ts";
import { BusUrl } from "../../../daemon/app/membership/settings.ts";
import { readTextOrNothing } from "../../../daemon/host/paths.ts";
import { readSettings } from "../../client/settings.ts";
import { answerCommand, type Args, type CommandContext } from "../../command/command.ts";
import { UsageError } from "../../client/failures.ts";
import { styled, type Terminal } from "../../output/terminal.ts";
import { isInvitation, readInvitation } from "./invitation.ts";
import {
  daemonIdOf,
  defaultName,
  join,
  mustBeName,
  restartAndWait,
  withPlainErrors,
} from "./membership.ts";
import { chooseShared, SHARE_FLAGS } from "./sharing.ts";
import { showConnection } from "./views.ts";

/** The value of --secret that begins a network. */
const NEW = "new";

export const JOIN_COMMAND = answerCommand({
  usage: "machines join <address>",
  needs: "this machine",
  summary: "Join a network of machines, by an invitation or the address of its bus",
  details:
    "Makes the keys of this machine, writes files and settings, and restarts the daemon. Shares " +
    "no peers until you choose circles. `-` reads the invitation from stdin, which keeps it out " +
    "of the history of the shell.",
  flags: {
    "--creds <file>": "credentials that the operator of the bus gave you, instead of a new key",
    "--name <name>": "the name of this machine in the network, by default its host name",
    "--secret <source>": "`-` reads the network secret from stdin; `new` makes one, which begins " +
      "a network; an invitation holds it",
    "--ca <file>": "the certificate of the authority that signed the server's, in PEM",
    ...SHARE_FLAGS,
    "--no-restart": "do not restart the daemon, which joins at its next start then",
  },
  example: "mesh machines join tls://bus.example.com:4222 --creds ~/laptop.creds --secret -",
  call: joinNetwork,
  show: showJoinResult,
});

type Target = Pick<Membership, "url" | "network_secret" | "ca" | "name">;

async function joinNetwork(context: CommandContext, args: Args) {
  const target = await targetOf(context, args);
  const creds = args.get("creds");
  const membership: Membership = {
    ...target,
    creds: creds === undefined ? undefined : mustExist(creds),
    share: await chooseShared(context, args),
  };
  const daemon_id = await daemonIdOf(context);
  const { fingerprint, user_key, written_to } = await join(context, membership);
  const allow = user_key === null
    ? null
    : `mesh machines allow ${user_key} ${daemon_id} ${target.name}`;
  const bus = args.flag("restart") ? await restartAndWait(context) : null;
  return {
    url: target.url,
    name: target.name,
    daemon_id,
    fingerprint,
    user_key,
    allow,
    shared_circles: readSettings(context.env)["mesh.bus.allow"],
    written_to,
    bus,
  };
}

type JoinResult = Awaited<ReturnType<typeof joinNetwork>>;

async function targetOf(context: CommandContext, args: Args): Promise<Target> {
  const given = args.text("address");
  // From stdin, an invitation stays out of the list of processes and the history of the shell.
  const text = given === "-" ? (await context.readText(given)).trim() : given;
  const file = args.get("ca"), name = args.get("name");
  const ca = file === undefined ? undefined : readTextOrNothing(mustExist(file));
  if (isInvitation(text)) {
    const invited = readInvitation(text);
    return {
      url: invited.url,
      ca: ca ?? invited.ca,
      network_secret: invited.secret,
      name: mustBeName(name ?? invited.name),
    };
  }
  const url = BusUrl.safeParse(text);
  if (!url.success) {
    const shown = hideCredentials(text);
    throw new UsageError(
      `"${shown}" is neither an invitation nor an address; use ${BusUrl.description}`,
    );
  }
  const network_secret = await secretOf(context, args);
  const known = readSettings(context.env)["mesh.bus.name"];
  return { url: url.data, ca, network_secret, name: mustBeName(name ?? known ?? defaultName()) };
}

/** A secret in the command line would stay in the history of the shell. */
async function secretOf(context: CommandContext, args: Args): Promise<string> {
  const source = args.get("secret");
  if (source === "-") return (await context.readText(source)).trim();
  if (source === NEW) return makeNetworkSecret(randomIds);
  if (source !== undefined) {
    throw new UsageError("--secret must be `-`, to read the secret from stdin, or `new`");
  }
  const existing = await withPlainErrors(() => readNetworkSecret(context.env));
  if (existing !== undefined) return existing;
  throw new UsageError(
    "The network secret is missing: pass it on stdin with `--secret -`, use an invitation, " +
      "or begin a network with `--secret new`",
  );
}

/** The absolute path of a file, because the daemon has another working directory. */
function mustExist(path: string): string {
  const whole = resolve(Deno.cwd(), path);
  if (readTextOrNothing(whole) !== undefined) return whole;
  throw new UsageError(`There is no file "${whole}"`);
}

function showJoinResult(joined: JoinResult, { terminal }: CommandContext): void {
  const { name, daemon_id, fingerprint, shared_circles, written_to, bus } = joined;
  terminal.print(styled("green", "Joined"), ` as ${name}; the settings are in ${written_to}`);
  terminal.printFields({
    "daemon id": daemon_id,
    fingerprint,
    shares: shared_circles.join(", ") ||
      "nothing yet; choose circles: mesh config set mesh.bus.allow CIRCLE",
  });
  terminal.print();
  showAllowLine(terminal, joined);
  if (bus) showConnection(terminal, bus);
}

/** Prints the command with which the server's operator allows this machine. */
function showAllowLine(to: Terminal, { allow, bus }: JoinResult): void {
  if (allow === null || bus?.status === "connected") return;
  to.print("On the machine that serves the bus, or by its operator, unless it was done before:");
  to.print("  ", styled("cyan", allow));
}
