/** The refusals of the authorization server, and their responses as the RFCs define them. */

import type { Log } from "kit/core/log.ts";
import { UNCACHED_HEADERS } from "kit/core/problem.ts";
import { isProblem } from "protocol/problems.ts";

const REGISTER_AGAIN =
  "this registration does not exist or has expired; remove and re-add the connector in your app";

/** People and programs read the descriptions. `{value}` is never a secret: the thrower sets it. */
// deno-fmt-ignore
const REFUSALS = {
  // refusal                 error                      status  description
  // The format of a request.
  wrong_media:             ["invalid_request",           400, "The body is not application/x-www-form-urlencoded"],
  too_large:               ["invalid_request",           413, "The request is larger than {value} bytes"],
  broken_off:              ["invalid_request",           400, "The request body was aborted"],
  not_text:                ["invalid_request",           400, "The body is not UTF-8"],
  repeated:                ["invalid_request",           400, "Repeated parameter: {value}"],
  missing:                 ["invalid_request",           400, "Missing parameter: {value}"],
  in_query:                ["invalid_request",           400, "Parameters belong in the body, not in the URL"],
  // Registration (RFC 7591).
  bad_metadata:            ["invalid_client_metadata",   400, "Invalid client metadata: {value}"],
  bad_redirects:           ["invalid_redirect_uri",      400, "Invalid redirect URI: {value}"],
  crowded:                 ["temporarily_unavailable",   429, "Too many registrations: try again in {value} s"],
  // Clients.
  unknown_client:          ["invalid_client",            401, `Unknown client: ${REGISTER_AGAIN}`],
  confidential_client:     ["invalid_client",            401, "Only public clients are supported: send client_id and no secret"],
  unknown_redirect:        ["invalid_request",           400, "The redirect_uri is not registered for this app"],
  // Authorization (RFC 6749, 7636, 8707).
  wrong_response_type:     ["unsupported_response_type", 400, "The only response_type is code"],
  wrong_response_mode:     ["invalid_request",           400, "The only response_mode is query"],
  wrong_challenge_method:  ["invalid_request",           400, "The only code_challenge_method is S256, and it is required"],
  wrong_challenge:         ["invalid_request",           400, "The code_challenge is not the base64url of a SHA-256 digest"],
  wrong_scope:             ["invalid_scope",             400, "The scope must contain agents:read; agents:write adds messaging"],
  wrong_resource:          ["invalid_target",            400, "The resource must be {value}"],
  denied:                  ["access_denied",             403, "The person did not allow it"],
  // Consent.
  lost_form:               ["invalid_request",           400, "This form has expired or belongs to another browser; go back to your app and connect again"],
  decided_form:            ["invalid_request",           400, "This form was decided already; go back to your app and connect again"],
  other_session:           ["access_denied",             403, "This form was opened under another relay secret; go back to your app and connect again"],
  foreign_form:            ["invalid_request",           403, "This form was not sent by a page of this relay"],
  hasty:                   ["temporarily_unavailable",   429, "Too many decisions: try again in {value} s"],
  wrong_decision:          ["invalid_request",           400, "The decision must be allow or deny"],
  wrong_access:            ["invalid_request",           400, "The access must be read or write"],
  wrong_secret:            ["access_denied",             403, "That is not a relay secret; a secret begins with mesh_sk_ and is in the daemon's configuration"],
  no_machine:              ["access_denied",             403, "No machine with this relay secret is online; start its daemon, then allow again"],
  signed_out:              ["access_denied",             403, "Nobody is signed in to the relay in this browser"],
  // Tokens.
  busy:                    ["temporarily_unavailable",   429, "Too many token exchanges for this connection: try again in {value} s"],
  wrong_grant_type:        ["unsupported_grant_type",    400, "The grant types are authorization_code and refresh_token"],
  wrong_code:              ["invalid_grant",             400, "The code is unknown, expired, used or another client's"],
  replayed_code:           ["invalid_grant",             400, "The code was used before: the grant and all its tokens are revoked"],
  wrong_code_redirect:     ["invalid_grant",             400, "The redirect_uri differs from that of the authorization request"],
  wrong_verifier:          ["invalid_grant",             400, "The code_verifier does not match the code_challenge"],
  wrong_refresh:           ["invalid_grant",             400, "The refresh token is unknown, expired, revoked or another client's; connect again"],
  replayed_refresh:        ["invalid_grant",             400, "The refresh token was used before: the grant and all its tokens are revoked; connect again"],
  wider_scope:             ["invalid_scope",             400, "A refresh can narrow the scope but not widen it; connect again to add messaging"],
  // The relay itself.
  storage:                 ["temporarily_unavailable",   503, "The relay cannot read or write its database now: try again later"],
  shutting_down:           ["temporarily_unavailable",   503, "The relay is shutting down: try again later"],
  internal:                 ["server_error",              500, "Internal error; the log of the relay has the cause"],
} as const satisfies Record<string, readonly [error: string, status: number, description: string]>;

export type RefusalCode = keyof typeof REFUSALS;

/** A refusal, to be thrown. If thrown inside of a transaction, the transaction rolls back. */
export class OAuthRefusal extends Error {
  override readonly name = "OAuthRefusal";
  readonly error: string;
  readonly status: number;
  readonly description: string;
  /** The value of the `Retry-After` header. */
  readonly retry_seconds: number | undefined;

  constructor(code: RefusalCode, value = "", retry_seconds?: number) {
    super(code);
    const [error, status, description] = REFUSALS[code];
    this.error = error;
    this.status = status;
    this.description = description.replace("{value}", () => toAscii(value));
    this.retry_seconds = retry_seconds;
  }

  get headers(): Record<string, string> {
    return {
      ...NO_STORE_HEADERS,
      ...(this.retry_seconds !== undefined && { "retry-after": String(this.retry_seconds) }),
      ...(this.status === 401 && { "www-authenticate": 'Basic realm="public clients only"' }),
    };
  }
}

/** Headers of responses with tokens or errors, which must not be cached (specification 5). */
export const NO_STORE_HEADERS = { ...UNCACHED_HEADERS, "pragma": "no-cache" };

/** Converts an error to a refusal. Logs an unexpected error, and does not reveal it. */
function toOAuthRefusal(thrown: unknown, log: Log): OAuthRefusal {
  if (thrown instanceof OAuthRefusal) return thrown;
  if (isProblem(thrown, "foreign_page") || isProblem(thrown, "wrong_form_token")) {
    return new OAuthRefusal("foreign_form");
  }
  // The request was still open when the time limit of the shutdown ended.
  if (isProblem(thrown, "shutting_down")) return new OAuthRefusal("shutting_down");
  log.error("An OAuth request failed", { thrown });
  return new OAuthRefusal(isStorageError(thrown) ? "storage" : "internal");
}

/** Runs `work`. If it throws, `respond` makes the response to the refusal. */
export async function withRefusals(
  log: Log,
  respond: (refusal: OAuthRefusal) => Response,
  work: () => Response | Promise<Response>,
): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    return respond(toOAuthRefusal(error, log));
  }
}

/** A response with the body `{error, error_description}` (RFC 6749 5.2). */
export function toErrorResponse({ error, description, status, headers }: OAuthRefusal): Response {
  return Response.json({ error, error_description: description }, { status, headers });
}

function isStorageError(thrown: unknown): boolean {
  const isSqliteError = thrown instanceof Error && "code" in thrown &&
    thrown.code === "ERR_SQLITE_ERROR";
  return isSqliteError || isProblem(thrown, "storage_failed");
}

/** Converts to the characters that RFC 6749 allows: ASCII without double quotes and backslashes. */
function toAscii(value: string): string {
  const ascii = value.replaceAll('"', "'").replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "?");
  return ascii.slice(0, 200);
}
