/** `mesh surface slack`: checks the settings and runs the surface until Ctrl-C. */

import { dirname, join } from "kit/core/path.ts";
import { outgoingFetch } from "kit/net/outgoing/http_client.ts";
import { makeDirectory, writePrivately } from "kit/host/durable_files.ts";
import { type Env, readTextOrNothing, statePath } from "../../daemon/host/paths.ts";
import type { Args, CommandContext } from "../../cli/command/command.ts";
import { EXIT } from "../../cli/client/failures.ts";
import { readSettings } from "../../cli/client/settings.ts";
import { apiBase, missingSettings, runSurface } from "../chat/program.ts";
import { DEFAULT_BASE } from "./api_caller.ts";
import type { HandledFile } from "./handled_messages.ts";
import { slackSockets } from "./socket_mode.ts";
import { SlackSurface } from "./surface.ts";
import { WebApi } from "./web_api.ts";

/** Exactly what the surface needs, and no more. */
const SCOPES = [
  "chat:write", // Shows items and notices.
  "files:read", // Reads the files of replies, and whether a file of ours is shown.
  "files:write", // Shows the files of items.
  "im:history", // Reads replies, and the threads that they are in.
  "im:write", // Opens the direct messages with the person.
  "reactions:write", // Marks a reply as forwarded.
];

export const MANIFEST = {
  display_information: {
    name: "Agent Mesh",
    description: "The questions and messages of your coding agents",
  },
  features: {
    app_home: {
      home_tab_enabled: false,
      messages_tab_enabled: true,
      messages_tab_read_only_enabled: false,
    },
    bot_user: { display_name: "mesh", always_online: false },
  },
  oauth_config: { scopes: { bot: SCOPES } },
  settings: {
    event_subscriptions: { bot_events: ["message.im"] },
    interactivity: { is_enabled: true },
    org_deploy_enabled: false,
    socket_mode_enabled: true,
    token_rotation_enabled: false,
  },
};

const MISSING = {
  app_token: "surfaces.slack.app_token is missing: create a Slack app from the manifest that " +
    "`mesh surface slack --manifest` prints, generate an app-level token with the scope " +
    "connections:write, and store it with `mesh config set surfaces.slack.app_token -`",
  bot_token: "surfaces.slack.bot_token is missing: install the app, and store its bot token with " +
    "`mesh config set surfaces.slack.bot_token -`",
  user: "surfaces.slack.user is missing: your member id, which your profile in Slack copies, for " +
    "`mesh config set surfaces.slack.user ID`",
};

export async function runSlack(context: CommandContext, args: Args): Promise<number> {
  if (args.flag("manifest")) {
    context.terminal.printJson(MANIFEST);
    return EXIT.done;
  }
  const { env, clock } = context;
  const settings = readSettings(env);
  const app_token = settings["surfaces.slack.app_token"];
  const bot_token = settings["surfaces.slack.bot_token"];
  const user = settings["surfaces.slack.user"];
  const channel = settings["surfaces.slack.channel"];
  if (!app_token || !bot_token || !user) {
    throw missingSettings(env, [
      ...(app_token ? [] : [MISSING.app_token]),
      ...(bot_token ? [] : [MISSING.bot_token]),
      ...(user ? [] : [MISSING.user]),
    ]);
  }
  const base = apiBase(env, "SLACK_API_BASE", DEFAULT_BASE);
  const fetch = outgoingFetch(env, clock.now);
  const slack = {
    api: new WebApi({ base, app_token, bot_token, clock, fetch }),
    user,
    channel,
    handledFile: handledFile(env),
    connectSlack: slackSockets({ env, clock }),
  };
  const where = channel === undefined ? "direct messages" : `channel ${channel}`;
  const place = `to ${user} in Slack (${where})`;
  const common = { place, auth_token: settings["daemon.auth_token"] };
  return await runSurface(context, common, (deps) => new SlackSurface({ ...deps, ...slack }));
}

/** A file of the state directory. */
function handledFile(env: Env): HandledFile {
  const path = join(statePath(env), "slack_surface.json");
  return {
    read: () => readTextOrNothing(path),
    write(text) {
      makeDirectory(dirname(path));
      writePrivately(path, text);
    },
  };
}
