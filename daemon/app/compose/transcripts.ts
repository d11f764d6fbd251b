/** Builds the reading of agents' session files. */

import { Transcripts } from "../../features/transcripts/transcripts.ts";
import { Usage } from "../../features/transcripts/usage.ts";
import type { Config } from "../config.ts";
import type { Foundation } from "./foundation.ts";

/** Variables whose values may be secrets, by their names. */
const SECRET_NAME = /key|token|secret|passw|credential|auth/i;

export function openTranscripts({ config, ctx, identity, platform }: Foundation) {
  const transcripts = new Transcripts(ctx, {
    machine: platform.machine,
    readers: config.transcripts,
    secrets: [identity.hook_token, ...secretsOf(config)],
    sessionFilesOf: (backend) => platform.sessionFilesOf(backend),
  });
  return { transcripts, usage: new Usage(ctx, transcripts) };
}

/** The secrets of the configuration, which an agent may have come across. */
export function secretsOf(config: Config): string[] {
  const secrets = [
    config["daemon.auth_token"],
    config["relay.secret"],
    config["surfaces.telegram.token"],
    config["telemetry.headers"],
  ];
  const variables = [
    config["spawn.env"],
    ...Object.values(config["spawn.profiles"]).map(({ env }) => env),
  ].flatMap((env) => Object.entries(env ?? {}));
  const webhook = config["routing.webhook"];
  return [
    ...secrets.flatMap((secret) => secret?.reveal() ?? []),
    ...variables.filter(([name]) => SECRET_NAME.test(name)).map(([, value]) => value),
    ...webhook === undefined ? [] : [webhook],
  ];
}
