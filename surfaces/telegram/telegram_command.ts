/** `mesh surface telegram`: checks the settings and runs the surface until Ctrl-C. */

import { outgoingFetch } from "kit/net/outgoing/http_client.ts";
import type { CommandContext } from "../../cli/command/command.ts";
import { readSettings } from "../../cli/client/settings.ts";
import { ChatError } from "../chat/chat.ts";
import { apiBase, missingSettings, runSurface } from "../chat/program.ts";
import { BotApi, type BotOptions, DEFAULT_BASE } from "./bot_api.ts";
import { TelegramSurface } from "./surface.ts";

const TOKEN_MISSING =
  "surfaces.telegram.token is missing: create a bot with @BotFather to get one, and store it with " +
  "`mesh config set surfaces.telegram.token -`";
const CHAT_MISSING =
  "surfaces.telegram.chat_id is missing: the id of your chat with the bot, for " +
  "`mesh config set surfaces.telegram.chat_id ID`";
/**
 * Time limit for the usage error to list chats. It must stay quick when Telegram is not reachable.
 */
const CHAT_LOOKUP_MS_MAX = 5_000;

export async function runTelegram(context: CommandContext): Promise<number> {
  const { env, clock } = context;
  const settings = readSettings(env);
  const token = settings["surfaces.telegram.token"];
  const chat_id = settings["surfaces.telegram.chat_id"];
  const base = apiBase(env, "TELEGRAM_API_BASE", DEFAULT_BASE);
  const options = { base, clock, fetch: outgoingFetch(env, clock.now) };
  if (!token) throw missingSettings(env, [TOKEN_MISSING, ...(chat_id ? [] : [CHAT_MISSING])]);
  if (!chat_id) {
    throw missingSettings(env, [CHAT_MISSING, await describeChats({ ...options, token })]);
  }
  const bot = new BotApi({ ...options, token, chat_id });
  const common = { place: `in chat ${chat_id}`, auth_token: settings["daemon.auth_token"] };
  return await runSurface(context, common, (deps) => new TelegramSurface({ ...deps, bot }));
}

/** Lists the chats that wrote to the bot recently, so that the user can choose one. */
async function describeChats(options: Omit<BotOptions, "chat_id">): Promise<string> {
  const bot = new BotApi({ ...options, chat_id: "0" });
  try {
    const updates = await bot.peekUpdates(CHAT_LOOKUP_MS_MAX);
    const chats = updates.flatMap(({ message }) => message ? [message.chat] : []);
    const chatNames = new Map(chats.map(({ id, type, username }) => [id, username ?? type]));
    const list = [...chatNames].map(([id, name]) => `${id} (${name})`);
    return list.length === 0
      ? "Write to the bot in Telegram and run this again: it then lists the chat's id"
      : `Chats that wrote to the bot: ${list.join(", ")}`;
  } catch (error) {
    if (!(error instanceof ChatError)) throw error;
    return `Cannot list the chats of the bot: ${error.message}`;
  }
}
