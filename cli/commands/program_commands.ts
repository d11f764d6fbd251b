/** The commands of `mesh` that are programs: the roles, chat surfaces, and completions. */

import type { Command } from "../command/command.ts";
import { EXIT, UsageError } from "../client/failures.ts";
import { ROLES } from "../programs/roles.ts";

export const PROGRAM_COMMANDS: readonly Command[] = [
  {
    usage: "surface telegram",
    needs: "this machine",
    summary: "Show your inbox in a Telegram chat and forward your replies, until Ctrl-C",
    details:
      "Pictures and files go both ways: those of an item follow its text, and those of your " +
      "reply are attached to it.",
    example: "mesh surface telegram",
    run: async (context) => {
      const { runTelegram } = await import("../../surfaces/telegram/telegram_command.ts");
      return await runTelegram(context);
    },
  },
  {
    usage: "surface slack",
    needs: "this machine",
    summary: "Show your inbox in Slack and forward your replies, until Ctrl-C",
    flags: { "--manifest": "print the manifest of the Slack app to create, as JSON" },
    example: "mesh surface slack",
    run: async (context, args) => {
      const { runSlack } = await import("../../surfaces/slack/slack_command.ts");
      return await runSlack(context, args);
    },
  },
  // `main.ts` starts the roles itself, so these entries exist only for `--help` and completions.
  {
    usage: "daemon",
    needs: "this machine",
    summary: "Run the daemon in the foreground",
    example: "mesh daemon",
    run: async ({ env }) => await ROLES.daemon(env),
  },
  {
    usage: "relay",
    needs: "this machine",
    summary: "Run the relay, which gives remote clients access to daemons",
    example: "RELAY_PORT=8378 mesh relay",
    run: async ({ env }) => await ROLES.relay(env),
  },
  {
    usage: "mcp",
    needs: "this machine",
    summary: "Run an MCP server over stdio, for agents that cannot use the daemon's /mcp",
    example: "mesh mcp",
    run: async ({ env }) => (await ROLES.mcp(env), EXIT.done),
  },
  {
    usage: "hook [args...]",
    needs: "this machine",
    summary: "Handle an agent's hook event; `mesh setup` installs the hooks",
    example: "mesh hook claude-code UserPromptSubmit",
    run: async ({ env }) => await ROLES.hook(env, []),
  },
  {
    usage: "completions <shell>",
    summary: "Print completions for bash, zsh or fish",
    details:
      "bash: source <(mesh completions bash) in ~/.bashrc. zsh: the same with zsh, in ~/.zshrc. " +
      "fish: mesh completions fish > ~/.config/fish/completions/mesh.fish",
    example: "source <(mesh completions bash)",
    run: async ({ terminal }, args) => {
      const { SCRIPTS } = await import("./generated/scripts.ts");
      terminal.device.out(scriptOf(args.text("shell"), SCRIPTS));
      return EXIT.done;
    },
  },
  {
    usage: "complete <kind>",
    summary: "Print the values of a kind, for the completion scripts",
    example: "mesh complete peers",
    hidden: true,
    run: async (context, args) => {
      const { valuesNow } = await import("./completions/values.ts");
      const values = await valuesNow(args.text("kind"), () => context.call);
      for (const value of values) context.terminal.print(value);
      return EXIT.done;
    },
  },
];

function scriptOf(shell: string, scripts: Readonly<Record<string, string>>): string {
  const script = new Map(Object.entries(scripts)).get(shell);
  if (script !== undefined) return script;
  const allowed = Object.keys(scripts).join(", ");
  throw new UsageError(`There are no completions for "${shell}"; choose one of ${allowed}`);
}
