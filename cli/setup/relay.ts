/** `mesh setup --relay`: registers with a relay and saves its address and secret. */

import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import { hideCredentials, messageOf, tryJson } from "kit/core/text.ts";
import { timeout } from "kit/core/timeout.ts";
import { mistakesOf } from "../../daemon/app/config.ts";
import { openConfig, setKey } from "../../daemon/app/config_file.ts";
import type { Env } from "../../daemon/host/paths.ts";
import { saveWithBackup } from "./configuration.ts";
import { RelaySecretText, RelayUrl } from "../../daemon/app/relay_settings.ts";

const ANSWER_MS_MAX = 10_000;
const ANSWER_LENGTH_MAX = 4096;

const Refusal = z.object({ detail: z.string() });
const Registration = z.object({ secret: RelaySecretText });

/** The relay could not be joined, and nothing was written. */
export class RelayJoinError extends Error {
  override readonly name = "RelayJoinError";
  /** True for a usage error, which means that the command line is wrong. */
  readonly misused: boolean;

  constructor(why: string, misused = false) {
    super(why);
    this.misused = misused;
  }
}

/** The result of the registration, or the planned result with `dry_run`. */
export interface RelayMembership {
  readonly relay: string;
  /** `kept` means that the configuration already had a secret for this relay. */
  readonly secret: "drawn" | "kept";
  readonly written_to: string;
  readonly dry_run: boolean;
}

interface JoinOptions {
  readonly env: Env;
  readonly url: string;
  readonly dry_run: boolean;
  readonly clock: Clock;
  readonly send: (request: Request) => Promise<Response>;
}

/**
 * Joins a relay. Each relay gets its own secret, so that no relay learns another relay's secret.
 */
export async function joinRelay(options: JoinOptions): Promise<RelayMembership> {
  const { env, dry_run } = options;
  const url = RelayUrl.safeParse(options.url);
  if (!url.success) {
    const allowed = url.error.issues[0]?.message ?? "";
    const given = hideCredentials(options.url);
    throw new RelayJoinError(`--relay: "${given}" is not allowed; use ${allowed}`, true);
  }
  const relay = url.data;
  const file = openConfig(env);
  const setting = (key: string) => file.document.get(key) ?? file.document.getIn(key.split("."));
  const isSameRelay = RelayUrl.safeParse(setting("relay.url")).data === relay;
  const isKept = isSameRelay && RelaySecretText.safeParse(setting("relay.secret")).success;
  const joined = { relay, written_to: file.path, dry_run };
  if (dry_run) return { ...joined, secret: isKept ? "kept" : "drawn" };
  if (!isKept) setKey(file, "relay.secret", await registerSecret(relay, options));
  setKey(file, "relay.url", relay);
  setKey(file, "relay.enabled", true);
  const [mistake] = mistakesOf(env, file.before ?? "", file.document.toString({ lineWidth: 0 }));
  if (mistake !== undefined) {
    throw new RelayJoinError(`The configuration was not changed: ${mistake}`);
  }
  saveWithBackup(file);
  return { ...joined, secret: isKept ? "kept" : "drawn" };
}

/**
 * Requests a new secret. Redirects are refused, because another server must not choose the secret.
 */
async function registerSecret(relay: string, { clock, send }: JoinOptions): Promise<string> {
  const address = `${relay}/api/v1/register`;
  const request = async (signal: AbortSignal) => {
    const answer = await send(new Request(address, { method: "POST", redirect: "error", signal }));
    return { ok: answer.ok, status: answer.status, text: await answer.text() };
  };
  const answer = await timeout(clock, ANSWER_MS_MAX, request).catch((error) => {
    const why = messageOf(error);
    throw new RelayJoinError(`Cannot reach ${address}: ${why}`);
  });
  if (!answer) {
    throw new RelayJoinError(`Cannot reach ${address}: no answer within ${ANSWER_MS_MAX / 1000} s`);
  }
  const json = tryJson(answer.text.slice(0, ANSWER_LENGTH_MAX));
  if (!answer.ok) {
    const { detail = "no reason given" } = Refusal.safeParse(json).data ?? {};
    throw new RelayJoinError(`${address} returned ${answer.status}: ${detail}`);
  }
  const registration = Registration.safeParse(json);
  if (!registration.success) {
    throw new RelayJoinError(`${address} returned no secret; is it a mesh relay?`);
  }
  return registration.data.secret;
}
