/** The official conformance suite of MCP against the relay's authorization server. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { OAuthRelay } from "../../support/e2e/oauth_lab.ts";

const CONFIG = join(import.meta.dirname ?? ".", "conformance.json");
const SUITE = "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12";
const AUTHORIZE = /https?:\/\/\S+\/oauth\/authorize\?\S+(?=\s)/;

Deno.test("the conformance suite finds no failure in the authorization server [4.oauth.foreign]", async () => {
  await using relay = await OAuthRelay.start();
  const out = await Deno.makeTempDir({ prefix: "mesh-conformance-" });
  try {
    const output = await run(relay, await register(relay), out);
    assert.match(output, /Total: 2 passed, 0 failed/, output);
  } finally {
    await Deno.remove(out, { recursive: true });
  }
});

/** The suite listens on a port of its own: a loopback redirect may have any port. */
async function register(relay: OAuthRelay): Promise<string> {
  const redirect_uris = ["http://127.0.0.1/callback"];
  const body = JSON.stringify({ redirect_uris });
  const answer = await fetch(`${relay.issuer}/oauth/register`, { method: "POST", body });
  return (await answer.json()).client_id;
}

/** A port that was free a moment ago. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Runs the suite, and acts as the person who opens the address that it prints. */
async function run(relay: OAuthRelay, client_id: string, out: string): Promise<string> {
  const flags = ["--url", relay.issuer, "--client-id", client_id, "--port", `${freePort()}`];
  const args = ["authorization", ...flags, "--resource", `${relay.issuer}/mcp`, "-o", out];
  const suite = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--config", CONFIG, SUITE, ...args],
    cwd: out,
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const decoder = new TextDecoder();
  let output = "", opened = false;
  for await (const chunk of suite.stdout) {
    output += decoder.decode(chunk, { stream: true });
    const address = AUTHORIZE.exec(output)?.[0];
    if (!address || opened) continue;
    opened = true;
    const back = await fetch(await relay.consent(new URL(address)));
    await back.body?.cancel();
  }
  await suite.status;
  return output;
}
