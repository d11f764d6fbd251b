/** Dynamic registration of public clients, and the removal of expired and unused clients. */

import * as z from "zod";
import type { Clock, Ids } from "kit/core/clock.ts";
import { DAY_MS } from "kit/core/duration.ts";
import type { Database } from "kit/data/sqlite.ts";
import { cleanLine, tryJson } from "kit/core/text.ts";
import type { Client, Registration } from "protocol/relay/oauth.ts";
import { clientMachine } from "./states.ts";
import { OAuthRefusal } from "./refusals.ts";
import { REDIRECT_BYTES_MAX, redirectProblem } from "./redirects.ts";
import * as rows from "./client_store.ts";

const UNUSED_CLIENTS_MAX = 4096;
const UNUSED_MS = DAY_MS;
/** Lifetime of a client after its latest token exchange. */
const USED_MS = 90 * DAY_MS;
/** Maximum number of expired rows that one write deletes, so that the write stays short. */
const EXPIRED_ROWS_MAX = 500;
const NAME_CHARACTERS_MAX = 80;
const CLIENT_ID = /^mc_[A-Za-z0-9_-]{22}$/;

const GRANT_TYPES = ["authorization_code", "refresh_token"];
const RESPONSE_TYPES = ["code"];

/** Other fields are ignored, as RFC 7591 requires. URLs in the metadata are never fetched. */
const Metadata = z.object({
  redirect_uris: z.array(z.string()).min(1),
  client_name: z.string().nullish(),
  token_endpoint_auth_method: z.string().nullish(),
  grant_types: z.array(z.string()).nullish(),
  response_types: z.array(z.string()).nullish(),
});

interface ClientsDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly ids: Ids;
}

export class Clients {
  readonly #deps: ClientsDeps;

  constructor(deps: ClientsDeps) {
    this.#deps = deps;
  }

  /**
   * Registers a public client. `json` has the format of RFC 7591. The response has the registered
   * values, which may differ from the requested ones: only redirect URIs that are allowed, and no
   * authentication (RFC 7591 3.2.1).
   */
  register(json: string): Registration {
    const { db, clock, ids } = this.#deps;
    const metadata = metadataOf(json);
    const now = clock.now();
    const client: Client = {
      client_id: `mc_${ids.secret(16)}`,
      client_name: metadata.client_name ? toClientName(metadata.client_name) : null,
      redirect_uris: metadata.redirect_uris,
      state: "unused",
      registered_at: now,
      expires_at: now + UNUSED_MS,
    };
    db.transactNow((tx) => {
      rows.expire(tx, now, EXPIRED_ROWS_MAX);
      rows.evict(tx, UNUSED_CLIENTS_MAX - 1);
      rows.insert(tx, client);
    });
    const { client_id, client_name, redirect_uris } = client;
    return {
      client_id,
      client_id_issued_at: Math.floor(now / 1000),
      ...(client_name && { client_name }),
      redirect_uris,
      grant_types: GRANT_TYPES,
      response_types: RESPONSE_TYPES,
      token_endpoint_auth_method: "none",
    };
  }

  mustGet(client_id: string): Client {
    const { db, clock } = this.#deps;
    const found = CLIENT_ID.test(client_id) && rows.get(db, client_id, clock.now());
    if (!found) throw new OAuthRefusal("unknown_client");
    return found;
  }

  /** Keeps the client for 90 days from now. Call it in the transaction of a token exchange. */
  onExchanged(client: Client): void {
    const { db, clock } = this.#deps;
    const state = clientMachine.step(client.state, "exchanged");
    db.transact((tx) => rows.update(tx, { ...client, state, expires_at: clock.now() + USED_MS }));
    db.transact((tx) => rows.expire(tx, clock.now(), EXPIRED_ROWS_MAX));
  }
}

function metadataOf(json: string): z.output<typeof Metadata> {
  const read = Metadata.safeParse(tryJson(json));
  if (!read.success) {
    const [issue] = read.error.issues;
    const path = issue?.path.join(".");
    const isRedirectIssue = path?.startsWith("redirect_uris") ?? false;
    throw new OAuthRefusal(
      isRedirectIssue ? "bad_redirects" : "bad_metadata",
      path ? `${path}: ${issue?.message}` : "the body is not a JSON object",
    );
  }
  const { grant_types, response_types } = read.data;
  const redirect_uris = allowedRedirects(read.data.redirect_uris);
  // The client is registered without its other grant types and response types (RFC 7591 3.2.1).
  if (grant_types && !grant_types.includes("authorization_code")) {
    throw new OAuthRefusal("bad_metadata", "grant_types lacks authorization_code");
  }
  if (response_types && !response_types.includes("code")) {
    throw new OAuthRefusal("bad_metadata", "response_types lacks code");
  }
  return { ...read.data, redirect_uris };
}

/** The requested redirect URIs that are allowed. Throws if no URI is allowed. */
function allowedRedirects(requested: readonly string[]): string[] {
  const allowed = requested.filter((uri) => redirectProblem(uri) === undefined);
  const [uri = ""] = requested;
  if (allowed.length === 0) {
    throw new OAuthRefusal("bad_redirects", `${uri}: ${redirectProblem(uri)}`);
  }
  const bytes = new TextEncoder().encode(allowed.join("")).length;
  if (bytes > REDIRECT_BYTES_MAX) {
    throw new OAuthRefusal("bad_redirects", `more than ${REDIRECT_BYTES_MAX} bytes in all`);
  }
  return allowed;
}

/** Shortens a client's untrusted name, and removes control and invisible characters. */
function toClientName(name: string): string | null {
  const short = [...cleanLine(name).replaceAll(/\s+/g, " ").trim()].slice(0, NAME_CHARACTERS_MAX)
    .join("");
  return short || null;
}
