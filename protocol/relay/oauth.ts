/** Contracts of the relay's OAuth 2.1 authorization server. */

import * as z from "zod";
import { atRelay, contract } from "protocol/contract.ts";
import { Instant } from "kit/core/schema.ts";
import { READ, WRITE } from "protocol/relay/mcp.ts";

export const SCOPES = [READ, WRITE] as const;

/** Every scope includes `agents:read` (specification 5). */
export const Scope = z.enum([READ, `${READ} ${WRITE}`]);
export type Scope = z.infer<typeof Scope>;

const ResourceMetadata = z.object({
  resource: z.string(),
  authorization_servers: z.array(z.string()),
  scopes_supported: z.array(z.string()),
  bearer_methods_supported: z.array(z.string()),
  resource_name: z.string(),
});
export type ResourceMetadata = z.infer<typeof ResourceMetadata>;

const ServerMetadata = z.object({
  issuer: z.string(),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  registration_endpoint: z.string(),
  revocation_endpoint: z.string(),
  scopes_supported: z.array(z.string()),
  response_types_supported: z.array(z.string()),
  response_modes_supported: z.array(z.string()),
  grant_types_supported: z.array(z.string()),
  token_endpoint_auth_methods_supported: z.array(z.string()),
  revocation_endpoint_auth_methods_supported: z.array(z.string()),
  code_challenge_methods_supported: z.array(z.string()),
  authorization_response_iss_parameter_supported: z.boolean(),
  client_id_metadata_document_supported: z.boolean(),
  protected_resources: z.array(z.string()),
});
export type ServerMetadata = z.infer<typeof ServerMetadata>;

const Registration = z.object({
  client_id: z.string(),
  client_id_issued_at: z.number().int(),
  client_name: z.string().optional(),
  redirect_uris: z.array(z.string()),
  grant_types: z.array(z.string()),
  response_types: z.array(z.string()),
  token_endpoint_auth_method: z.literal("none"),
});
export type Registration = z.infer<typeof Registration>;

const Credentials = z.object({
  access_token: z.string(),
  token_type: z.literal("Bearer"),
  expires_in: z.number().int(),
  refresh_token: z.string(),
  scope: Scope,
});
export type Credentials = z.infer<typeof Credentials>;

export const Client = z.object({
  client_id: z.string(),
  client_name: z.string().nullable(),
  redirect_uris: z.array(z.string()),
  state: z.enum(["unused", "used"]),
  registered_at: Instant,
  expires_at: Instant,
});
export type Client = z.output<typeof Client>;

const FORM = "application/x-www-form-urlencoded";
const page = { ...atRelay, returns: z.string(), responseType: "text/html" } as const;

export const getResourceMetadata = contract({
  ...atRelay,
  id: "oauth.resource",
  method: "GET",
  path: "/.well-known/oauth-protected-resource",
  summary: "The metadata of the relay's MCP as a protected resource (RFC 9728)",
  returns: ResourceMetadata,
});

export const getMcpMetadata = contract({
  ...getResourceMetadata,
  id: "oauth.resource_mcp",
  path: "/.well-known/oauth-protected-resource/mcp",
});

/** For an app whose address of the MCP ends with a slash. */
export const getMcpSlashMetadata = contract({
  ...getMcpMetadata,
  id: "oauth.resource_mcp_slash",
  path: "/.well-known/oauth-protected-resource/mcp/",
});

export const getServerMetadata = contract({
  ...atRelay,
  id: "oauth.server",
  method: "GET",
  path: "/.well-known/oauth-authorization-server",
  summary: "The metadata of the authorization server (RFC 8414)",
  returns: ServerMetadata,
});

export const registerClient = contract({
  ...atRelay,
  id: "oauth.register",
  method: "POST",
  path: "/oauth/register",
  summary: "Register a public client (RFC 7591)",
  bodyType: "application/json",
  returns: Registration,
});

export const getConsent = contract({
  ...page,
  id: "oauth.authorize",
  method: "GET",
  path: "/oauth/authorize",
  summary: "Show the consent form",
});

export const submitConsent = contract({
  ...page,
  id: "oauth.consent",
  method: "POST",
  path: "/oauth/authorize",
  summary: "Submit the decision of a consent form",
  bodyType: FORM,
});

export const exchangeToken = contract({
  ...atRelay,
  id: "oauth.token",
  method: "POST",
  path: "/oauth/token",
  summary: "Exchange a code or a refresh token",
  bodyType: FORM,
  returns: Credentials,
});

export const revokeToken = contract({
  ...atRelay,
  id: "oauth.revoke",
  method: "POST",
  path: "/oauth/revoke",
  summary: "Revoke an access token, or a grant by its refresh token (RFC 7009)",
  bodyType: FORM,
  returns: z.object({}),
});

export const listConnections = contract({
  ...page,
  id: "oauth.connections",
  method: "GET",
  path: "/oauth/connections",
  summary: "List the apps that hold a grant of the signed-in relay secret",
});

export const endConnection = contract({
  ...page,
  id: "oauth.disconnect",
  method: "POST",
  path: "/oauth/connections",
  summary: "Revoke a grant",
  bodyType: FORM,
});
