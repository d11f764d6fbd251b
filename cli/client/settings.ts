/** The configuration as commands read it. Loads the schemas of all settings. */

import { messageOf } from "kit/core/text.ts";
import { readConfig } from "../../daemon/app/config.ts";
import { configPath, type Env, readTextOrNothing } from "../../daemon/host/paths.ts";
import { type ClientSettings, ConfigError, toUrl } from "./daemon_client.ts";

export function readSettings(env: Env): ReturnType<typeof readConfig> {
  try {
    return readConfig(env, readTextOrNothing);
  } catch (error) {
    const message = messageOf(error);
    throw new ConfigError(message, { cause: configPath(env) });
  }
}

/** The address and the token of the configuration, for a client. */
export function readClientSettings(env: Env): ClientSettings {
  const config = readSettings(env);
  return {
    url: toUrl(config["daemon.host"], config["daemon.port"]),
    token: config["daemon.auth_token"]?.reveal(),
  };
}
