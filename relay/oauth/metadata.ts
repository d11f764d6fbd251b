/** Discovery metadata of the protected resource and of the authorization server. */

import { type ResourceMetadata, SCOPES, type ServerMetadata } from "protocol/relay/oauth.ts";

/** The canonical URL of the relay's MCP. Every token is issued for this resource. */
export function resourceOf(issuer: string): string {
  return `${issuer}/mcp`;
}

/** The metadata of the protected resource (RFC 9728). */
export function resourceMetadata(issuer: string): ResourceMetadata {
  return {
    resource: resourceOf(issuer),
    authorization_servers: [issuer],
    scopes_supported: [...SCOPES],
    bearer_methods_supported: ["header"],
    resource_name: "Agent Mesh",
  };
}

/** The metadata of the authorization server (RFC 8414), which announces `iss` (RFC 9207). */
export function serverMetadata(issuer: string): ServerMetadata {
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    registration_endpoint: `${issuer}/oauth/register`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    scopes_supported: [...SCOPES],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: false,
    protected_resources: [resourceOf(issuer)],
  };
}
