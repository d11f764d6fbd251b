/** Checks an authorization request, in the order that the RFCs require. */

import type { Client, Scope } from "protocol/relay/oauth.ts";
import { mustGet, type Params } from "../forms.ts";
import { isRegistered } from "../redirects.ts";
import { OAuthRefusal } from "../refusals.ts";
import { scopeOf } from "../scopes.ts";

/** The verified target of the answer. */
export interface RedirectTarget {
  readonly client: Client;
  readonly redirect_uri: string;
  readonly state: string | undefined;
}

/** The access that the app requests. */
interface RequestedAccess {
  readonly scope: Scope;
  readonly code_challenge: string;
}

/** A SHA-256 digest in base64url, which the method S256 requires. */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

/** Verifies client and redirect URI. Show its refusals on a page; never send them to the app. */
export function redirectTargetOf(
  params: Params,
  clientOf: (client_id: string) => Client,
): RedirectTarget {
  const repeated = params.repeated.filter((name) =>
    name === "client_id" || name === "redirect_uri"
  );
  if (repeated.length > 0) throw new OAuthRefusal("repeated", repeated.join(", "));
  const client = clientOf(mustGet(params, "client_id"));
  const redirect_uri = params.get("redirect_uri") ?? onlyRedirectUri(client.redirect_uris);
  if (!isRegistered(redirect_uri, client.redirect_uris)) throw new OAuthRefusal("unknown_redirect");
  return { client, redirect_uri, state: params.get("state") };
}

/** Checks the other parameters. A refusal of these is an answer to the app. */
export function requestedAccessOf(params: Params, resource: string): RequestedAccess {
  if (params.repeated.length > 0) throw new OAuthRefusal("repeated", params.repeated.join(", "));
  if (mustGet(params, "response_type") !== "code") throw new OAuthRefusal("wrong_response_type");
  if ((params.get("response_mode") ?? "query") !== "query") {
    throw new OAuthRefusal("wrong_response_mode");
  }
  const code_challenge = mustGet(params, "code_challenge");
  // Without this parameter the method would be `plain` (RFC 7636 4.3), which is not supported.
  if (params.get("code_challenge_method") !== "S256") {
    throw new OAuthRefusal("wrong_challenge_method");
  }
  if (!CHALLENGE.test(code_challenge)) throw new OAuthRefusal("wrong_challenge");
  refuseOtherResource(params.get("resource"), resource);
  const scope = scopeOf(params.get("scope"));
  if (!scope) throw new OAuthRefusal("wrong_scope");
  return { scope, code_challenge };
}

/** Refuses any other resource: tokens are issued only for the relay's MCP (RFC 8707). */
export function refuseOtherResource(requested: string | undefined, resource: string): void {
  if (requested !== resource) throw new OAuthRefusal("wrong_resource", resource);
}

function onlyRedirectUri([first, ...others]: readonly string[]): string {
  if (first === undefined || others.length > 0) throw new OAuthRefusal("missing", "redirect_uri");
  return first;
}
