/** The protocol's own client connects by itself: from a 401 to a tool's answer. */

import assert from "node:assert/strict";
import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { OAuthRelay } from "../../support/e2e/oauth_lab.ts";

/** An app's storage, and the address to which it would send the person's browser. */
class Memory implements OAuthClientProvider {
  readonly redirectUrl = "http://localhost:49152/callback";
  readonly clientMetadata = { redirect_uris: [this.redirectUrl], client_name: "The SDK" };
  address: URL | undefined;
  savedTokens: OAuthTokens | undefined;
  #client: OAuthClientInformationMixed | undefined;
  #verifier = "";
  #discovered: OAuthDiscoveryState | undefined;

  clientInformation = () => this.#client;
  saveClientInformation = (client: OAuthClientInformationMixed) => void (this.#client = client);
  tokens = () => this.savedTokens;
  saveTokens = (tokens: OAuthTokens) => void (this.savedTokens = tokens);
  redirectToAuthorization = (address: URL) => void (this.address = address);
  saveCodeVerifier = (verifier: string) => void (this.#verifier = verifier);
  codeVerifier = () => this.#verifier;
  saveDiscoveryState = (state: OAuthDiscoveryState) => void (this.#discovered = state);
  discoveryState = () => this.#discovered;
}

async function connectClient(relay: OAuthRelay, authProvider: Memory): Promise<Client> {
  const client = new Client({ name: "app", version: "1" });
  const address = new URL(`${relay.issuer}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(address, { authProvider }));
  return client;
}

Deno.test("the protocol's own client registers, connects and refreshes by itself [4.oauth.foreign]", async () => {
  await using relay = await OAuthRelay.start();
  const memory = new Memory();
  await assert.rejects(connectClient(relay, memory), UnauthorizedError);
  assert.ok(memory.address, "it has an address for the browser");
  const back = await relay.consent(memory.address);
  const transport = new StreamableHTTPClientTransport(new URL(`${relay.issuer}/mcp`), {
    authProvider: memory,
  });
  await transport.finishAuth(back.searchParams);
  const first = memory.savedTokens;
  assert.ok(first?.refresh_token);
  const client = await connectClient(relay, memory);
  assert.equal((await client.listTools()).tools.length, 6);
  await client.close();
  // An expired access token is renewed without asking the person.
  memory.savedTokens = { ...first, access_token: "mesh_at_over" };
  const again = await connectClient(relay, memory);
  const { structuredContent } = await again.callTool({ name: "list_machines", arguments: {} });
  assert.match(JSON.stringify(structuredContent), /dm-[0-9a-f]{12}/);
  assert.notEqual(memory.savedTokens?.refresh_token, first.refresh_token);
  await again.close();
});
