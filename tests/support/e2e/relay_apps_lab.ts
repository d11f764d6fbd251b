/** A whole relay on a port, which is its own issuer; the official client as an app of it. */

import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { randomIds, systemClock } from "kit/core/clock.ts";
import { jsonLog } from "kit/core/log.ts";
import { toConnection } from "kit/net/tunnel/connection.ts";
import * as z from "zod";
import { Relay } from "../../../relay/app/relay.ts";
import { openDatabase } from "../../../relay/app/database.ts";
import { SECRET } from "./relay_lab.ts";

export class WholeRelay implements AsyncDisposable {
  readonly logged: string[] = [];
  readonly issuer: string;
  readonly relay: Relay;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #ticking: Promise<void>;
  readonly #end: () => void;

  constructor() {
    const barrier = Promise.withResolvers<Relay>();
    const onError = (error: unknown) => this.relay.onError(error);
    const options = { hostname: "127.0.0.1", port: 0, onListen: () => undefined, onError };
    this.#server = Deno.serve(options, async (request, { remoteAddr }) => {
      return await (await barrier.promise).fetch(request, remoteAddr);
    });
    this.issuer = `http://127.0.0.1:${this.#server.addr.port}`;
    const log = jsonLog(systemClock, "debug", (line) => this.logged.push(line));
    const db = openDatabase(":memory:", this.issuer, { clock: systemClock, log });
    this.relay = new Relay({
      clock: systemClock,
      ids: randomIds,
      log,
      proxy: { mode: "direct" },
      oauth: { issuer: this.issuer, db },
      accept: (request, ears) => {
        const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
        return { response, connection: toConnection(socket, ears) };
      },
    });
    this.#end = () => db[Symbol.dispose]();
    this.#ticking = this.relay.run();
    barrier.resolve(this.relay);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.relay.shutDown();
    await this.#server.shutdown();
    await this.#ticking;
    await this.relay[Symbol.asyncDispose]();
    this.#end();
  }
}

const CALLBACK = "http://127.0.0.1/callback";
type SavedTokens = Parameters<NonNullable<OAuthClientProvider["saveTokens"]>>[0];
type DiscoveryState = Parameters<NonNullable<OAuthClientProvider["saveDiscoveryState"]>>[0];
type ClientInformation = Awaited<ReturnType<OAuthClientProvider["clientInformation"]>>;

/** A person's browser: reads the consent page, types the secret, allows. */
async function consent(address: URL): Promise<URLSearchParams> {
  const page = await fetch(address, { redirect: "manual" });
  const [cookie = ""] = (page.headers.get("set-cookie") ?? "").split(";");
  const request = /name="request"\s+value="([^"]+)"/.exec(await page.text())?.[1] ?? "";
  const body = new URLSearchParams({ request, relay_secret: SECRET, decision: "allow" });
  const headers = { cookie, origin: address.origin };
  const to = new URL("/oauth/authorize", address);
  const allowed = await fetch(to, { method: "POST", body, headers, redirect: "manual" });
  const location = allowed.headers.get("location");
  if (location === null) throw new Error(`${allowed.status}: ${await allowed.text()}`);
  await allowed.body?.cancel();
  return new URL(location).searchParams;
}

/** An app's storage of its connection. */
class ClientStore implements OAuthClientProvider {
  readonly redirectUrl = CALLBACK;
  readonly clientMetadata: { client_name: string; redirect_uris: string[] };
  called: URLSearchParams | undefined;
  savedTokens: SavedTokens | undefined;
  #clientInformation: ClientInformation;
  #verifier = "";
  #discovered: DiscoveryState | undefined;

  constructor(client_name: string) {
    this.clientMetadata = { client_name, redirect_uris: [CALLBACK] };
  }

  clientInformation = () => this.#clientInformation;
  saveClientInformation = (known: ClientInformation) => void (this.#clientInformation = known);
  tokens = () => this.savedTokens;
  saveTokens = (tokens: SavedTokens) => void (this.savedTokens = tokens);
  saveCodeVerifier = (verifier: string) => void (this.#verifier = verifier);
  codeVerifier = () => this.#verifier;
  saveDiscoveryState = (state: DiscoveryState) => void (this.#discovered = state);
  discoveryState = () => this.#discovered;

  async redirectToAuthorization(address: URL): Promise<void> {
    this.called = await consent(address);
  }
}

const Data = z.record(z.string(), z.unknown()).default({});

/** An app that has found the relay, registered, and been allowed, all by its own library. */
export async function connectApp(issuer: string, client_name = "An app") {
  const clientStore = new ClientStore(client_name);
  const open = () =>
    new StreamableHTTPClientTransport(new URL(`${issuer}/mcp`), { authProvider: clientStore });
  const first = open();
  try {
    await new Client({ name: "app", version: "1" }).connect(first);
  } catch (error) {
    if (!(error instanceof UnauthorizedError) || !clientStore.called) throw error;
    await first.finishAuth(clientStore.called);
  }
  const client = new Client({ name: "app", version: "1" });
  await client.connect(open());
  return {
    client,
    clientStore,
    async call(name: string, given: Record<string, unknown> = {}) {
      const { structuredContent, isError } = await client.callTool({ name, arguments: given });
      return { refused: isError ?? false, data: Data.parse(structuredContent) };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
