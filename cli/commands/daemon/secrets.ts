/** `mesh token`: prints the secrets of the configuration, which other commands hide. */

import {
  answerCommand,
  type Args,
  type Command,
  type CommandContext,
} from "../../command/command.ts";
import { readSettings } from "../../client/settings.ts";
import { CommandError } from "../../client/failures.ts";

export const TOKEN_COMMAND: Command = answerCommand({
  usage: "token",
  needs: "this machine",
  summary: "Print the token that programs send to the daemon",
  details:
    'Use it as: curl -H "Authorization: Bearer $(mesh token)" http://127.0.0.1:8377/peers. ' +
    "Anyone with the token can do everything that you can do here: do not paste it anywhere.",
  flags: { "--relay": "print the secret with which you sign in to the relay instead" },
  example: "mesh token",
  call: readSecret,
  show: ({ token }, { terminal }) => terminal.print(token),
});

function readSecret({ env }: CommandContext, args: Args): { token: string } {
  const settings = readSettings(env);
  const isRelay = args.flag("relay");
  const secret = isRelay ? settings["relay.secret"] : settings["daemon.auth_token"];
  if (secret) return { token: secret.reveal() };
  throw new CommandError(
    isRelay
      ? "No relay is configured; connect one with `mesh setup --relay URL`"
      : "No token is set, so every program of yours may call the daemon; `mesh setup` sets one",
  );
}
