/** `mesh machines serve`: runs the server of a home network, and lets this machine join it. */

import { randomIds } from "kit/core/clock.ts";
import { resolve } from "kit/core/path.ts";
import { hideCredentials } from "kit/core/text.ts";
import { ensureNetworkSecret } from "../../../daemon/app/membership/joining.ts";
import { BUS_PORT } from "../../../daemon/app/membership/settings.ts";
import { addMachine } from "../../../daemon/machines/nats/server_config.ts";
import type { Env } from "../../../daemon/host/paths.ts";
import {
  type Args,
  type Command,
  type CommandContext,
  interruptible,
} from "../../command/command.ts";
import { CommandError, EXIT, UsageError } from "../../client/failures.ts";
import { readSettings } from "../../client/settings.ts";
import { styled } from "../../output/terminal.ts";
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
import { makeCertificates, readAuthority } from "./certificates.ts";
import {
  addressOf,
  localAddressOf,
  readServer,
  removeRunning,
  runningServer,
  serverPaths,
  type ServerSettings,
  writeServer,
} from "./server_files.ts";
import {
  mustFindServer,
  prepareServer,
  reloadServer,
  type StartedServer,
  startServer,
  stopServer,
  weaknessOf,
} from "./server_process.ts";

const PORT_MAX = 65_535;
/** The forms of names and addresses that a certificate can hold. */
const HOST_NAME = /^[A-Za-z0-9][\w.-]*$/;
const HOST_ADDRESS = /^[0-9A-Fa-f:.]+$/;
/** Always in the certificate, because this machine itself connects there. */
const LOCAL_HOSTS = ["localhost", "127.0.0.1"];

export const SERVE_COMMAND: Command = {
  usage: "machines serve",
  needs: "this machine",
  summary: "Run the server that carries messages between your machines (nats-server)",
  details: "Writes its configuration, makes its certificate, and lets this machine join. Without " +
    "--background it runs until Ctrl-C. Messages that wait are kept in its directory. To run it " +
    "at every start of the machine, let your service manager run this command.",
  flags: {
    "--host <address> ...": "a name or an address by which other machines reach this one; by " +
      "default its addresses and its host name; 127.0.0.1: for this machine alone",
    "--port <port>": `the port, by default ${BUS_PORT}; 0 picks one`,
    "--dir <folder>": "where it keeps what waits, by default in the state directory",
    "--name <name>": "the name of this machine in the network, by default its host name",
    "--background": "return once it listens; `--stop` stops it",
    "--stop": "stop the server that runs in the background",
    ...SHARE_FLAGS,
    "--no-restart": "do not restart the daemon, which joins at its next start then",
  },
  example: "mesh machines serve --background",
  run: serve,
};

async function serve(context: CommandContext, args: Args): Promise<number> {
  const { env, clock, terminal } = context;
  if (args.flag("stop")) return await stop(context);
  const program = mustFindServer(env);
  const settings = settingsFor(env, args);
  const running = runningServer(env);
  if (running) {
    throw new CommandError(
      `The server runs already, as process ${running.pid}; stop it first with: ` +
        "mesh machines serve --stop",
    );
  }
  const daemonId = await daemonIdOf(context);
  await makeCertificates(env, [...new Set([...settings.hosts, ...LOCAL_HOSTS])]);
  const outlives = args.flag("background");
  const name = mustBeName(args.get("name") ?? readSettings(env)["mesh.bus.name"] ?? defaultName());
  const share = await chooseShared(context, args);
  await writeServer(env, settings);
  const server = await startServer(env, clock, { outlives });
  try {
    const served = { ...settings, port: server.port };
    await prepareServer(env, served, daemonId);
    await joinOwnServer(context, { served, daemonId, name, share });
    const weakness = await weaknessOf(program);
    if (weakness !== undefined) terminal.print(styled("yellow", "Warning"), `: ${weakness}`);
    showServer(context, served, { pid: server.process.pid, name, daemonId });
    if (args.flag("restart")) showConnection(terminal, await restartAndWait(context));
  } catch (error) {
    await stopServer(env, clock);
    throw error;
  }
  return outlives ? EXIT.done : await untilInterrupted(context, server);
}

async function stop({ env, clock, terminal }: CommandContext): Promise<number> {
  const pid = await stopServer(env, clock);
  if (pid === undefined) terminal.print("No server of this state directory is running.");
  else terminal.print(styled("green", "Stopped"), `: process ${pid} has exited`);
  return EXIT.done;
}

/** The settings of the flags. Settings without a flag stay as they were. */
function settingsFor(env: Env, args: Args): ServerSettings {
  const before = readServer(env);
  const given = args.list("host");
  const wrong = given.find((host) => !isHost(host));
  if (wrong !== undefined) {
    throw new UsageError(`--host: "${hideCredentials(wrong)}" is not a name or an address`);
  }
  const port = args.number("port") ?? before?.port ?? BUS_PORT;
  if (!Number.isInteger(port) || port > PORT_MAX) {
    throw new UsageError(`--port: ${port} is not a port, 0 to ${PORT_MAX}`);
  }
  const dir = args.get("dir");
  return {
    port,
    hosts: given.length > 0 ? given : before?.hosts ?? ownHosts(),
    dir: dir === undefined ? before?.dir ?? serverPaths(env).store : resolve(Deno.cwd(), dir),
    machines: before?.machines ?? [],
  };
}

/** The addresses of this machine in its networks, and its name. */
function ownHosts(): string[] {
  const addresses = Deno.networkInterfaces()
    .filter(({ family, address }) => family === "IPv4" && !address.startsWith("127."))
    .map(({ address }) => address);
  const name = Deno.hostname();
  return [...addresses, ...isHost(name) ? [name] : []];
}

interface OwnMachine {
  readonly served: ServerSettings;
  readonly daemonId: string;
  readonly name: string;
  readonly share: readonly string[] | undefined;
}

/** This machine is the first one that its server knows. */
async function joinOwnServer(
  context: CommandContext,
  { served, daemonId, name, share }: OwnMachine,
): Promise<void> {
  const { env, clock } = context;
  const network_secret = await withPlainErrors(() => ensureNetworkSecret(env, randomIds));
  const { user_key } = await join(context, {
    url: localAddressOf(served),
    name,
    network_secret,
    ca: readAuthority(env),
    creds: undefined,
    share,
  });
  const machine = { daemon_id: daemonId, name, public_key: user_key ?? "" };
  await writeServer(env, { ...served, machines: addMachine(served.machines, machine) });
  await reloadServer(env, clock);
}

function showServer(
  { env, terminal }: CommandContext,
  served: ServerSettings,
  { pid, name, daemonId }: { pid: number; name: string; daemonId: string },
): void {
  terminal.print(styled("green", "Serving"), ` at ${addressOf(served)} (process ${pid})`);
  terminal.printFields({
    "reachable as": served.hosts.join(", "),
    "this machine": `${name}, ${daemonId}`,
    "waiting messages": served.dir,
    "log": serverPaths(env).log,
  });
  terminal.print();
  terminal.print("To add a machine, run here: ", styled("cyan", "mesh machines invite NAME"));
}

/** Waits for Ctrl-C and returns the exit code. The server's own end is a failure. */
async function untilInterrupted(
  { env, clock, terminal }: CommandContext,
  { process }: StartedServer,
): Promise<number> {
  terminal.print(styled("dim", "Ctrl-C stops it."));
  const ended = await interruptible((signal) => {
    const interrupted = Promise.withResolvers<undefined>();
    signal.addEventListener("abort", () => interrupted.resolve(undefined), { once: true });
    return Promise.race([process.status, interrupted.promise]);
  });
  if (!ended) {
    await stopServer(env, clock);
    return EXIT.done;
  }
  removeRunning(env);
  throw new CommandError(
    `nats-server exited with code ${ended.code}; see "${serverPaths(env).log}"`,
  );
}

function isHost(text: string): boolean {
  const isName = HOST_NAME.test(text) && /[A-Za-z0-9]$/.test(text);
  return isName || (text.includes(":") && HOST_ADDRESS.test(text));
}
