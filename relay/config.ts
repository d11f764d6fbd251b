/** Everything the relay can be told (specification 5, contract 9). */

import { z } from "zod";

const PORT = "a port (0 picks one), 0 to 65535";
const port = z.string().regex(/^\d+$/, PORT).transform(Number).pipe(z.number().max(65535, PORT));

const Settings = z.object({
  RELAY_HOST: z.string().min(1).default("127.0.0.1"),
  RELAY_PORT: port.default(8378),
  RELAY_OAUTH_ISSUER: z.string().optional(),
});

export interface RelayConfig {
  readonly host: string;
  readonly port: number;
}

/** The settings, or one error that names every mistake. */
export function readRelayConfig(env: Readonly<Record<string, string>>): RelayConfig {
  const read = Settings.safeParse(env);
  if (!read.success) {
    const lines = read.error.issues.map(({ path, message }) => {
      const key = path.join(".");
      return `${key}: found ${JSON.stringify(env[key])}; allowed: ${message}`;
    });
    throw new Error(`Cannot read the configuration:\n  ${lines.join("\n  ")}`);
  }
  const { RELAY_HOST, RELAY_PORT, RELAY_OAUTH_ISSUER } = read.data;
  if (RELAY_OAUTH_ISSUER) {
    throw new Error("Cannot start with RELAY_OAUTH_ISSUER: this version's relay has no OAuth yet");
  }
  return { host: RELAY_HOST, port: RELAY_PORT };
}
