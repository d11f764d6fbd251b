/** The commands of the chat surfaces, each loaded only when it is wanted. */

import type { Command } from "../command/command.ts";

export const SURFACE_COMMANDS: readonly Command[] = [
  {
    usage: "surface telegram",
    summary: "Show your inbox in a Telegram chat, and carry your replies; Ctrl-C ends it",
    example: "mesh surface telegram",
    run: async (context) =>
      await (await import("./telegram/telegram_command.ts")).runTelegram(context),
  },
];
