/** Runs one foreign app against a relay: the person's part of its logins, and what it reports. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import type { OAuthRelay } from "../support/e2e/oauth_lab.ts";

/** The steps, in order. The second login allows reading only. */
export const STEPS = ["login", "tools", "refresh", "revocation", "read-only"] as const;
export type Step = typeof STEPS[number];

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Result of each step: `ok`, or the reason of its failure. Unreported steps are missing. */
export type Outcome = ReadonlyMap<Step, string>;

/** Maximum time for all steps of an app. */
const APP_MS_MAX = 300_000;

/**
 * Runs an app. It writes `OPEN address` for a login, `EXPIRE` and `REVOKE`, each of which is
 * answered with a line, and `DONE step` or `FAILED step reason`.
 */
export async function runApp(relay: OAuthRelay, { program, args, env }: Command): Promise<Outcome> {
  const outcome = new Map<Step, string>();
  const child = new Deno.Command(program, {
    args: [...args],
    env: { ...env, MCP_URL: `${relay.issuer}/mcp`, NO_COLOR: "1", PYTHONWARNINGS: "ignore" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const cancel = systemClock.setTimer(APP_MS_MAX, () => child.kill("SIGKILL"));
  const stdin = child.stdin.getWriter();
  const answer = (line: string) => stdin.write(new TextEncoder().encode(`${line}\n`));
  const errors = new Response(child.stderr).text();
  let logins = 0;
  for await (const line of linesOf(child.stdout)) {
    const [word, first = "", ...rest] = line.split(" ");
    if (word === "OPEN") {
      const access = ++logins === 1 ? "write" : "read";
      await answer((await relay.consent(new URL(first), { access })).href);
    } else if (word === "REVOKE") {
      await revokeAll(relay);
      await answer("REVOKED");
    } else if (word === "EXPIRE") {
      relay.db.transactNow((tx) => tx.run("update oauth_access_tokens set expires_at = 0"));
      await answer("EXPIRED");
    } else if (word === "DONE" && isStep(first)) outcome.set(first, "ok");
    else if (word === "FAILED" && isStep(first)) outcome.set(first, rest.join(" "));
  }
  const { success } = await child.status;
  cancel();
  await stdin.close().catch(() => undefined); // It has ended.
  if (!success && !outcome.has("read-only")) outcome.set("read-only", lastLine(await errors));
  return outcome;
}

function isStep(text: string): text is Step {
  return (STEPS as readonly string[]).includes(text);
}

async function* linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>) {
  let partial = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = `${partial}${text}`.split("\n");
    partial = lines.pop() ?? "";
    yield* lines;
  }
}

async function revokeAll({ issuer, secret }: OAuthRelay): Promise<void> {
  const headers = { authorization: `Bearer ${secret}` };
  const { apps } = await (await fetch(`${issuer}/api/v1/apps`, { headers })).json();
  for (const { grant_id } of apps) {
    const address = `${issuer}/api/v1/apps/${grant_id}`;
    assert.equal((await fetch(address, { method: "DELETE", headers })).status, 200);
  }
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}
