/** What the relay says of itself to clients that discover it: the issuer is the configured one. */

import { type ResourceMetadata, SCOPES, type ServerMetadata } from "./contract.ts";

/** The canonical address of the relay's MCP, which every token is for. */
export function resourceOf(issuer: string): string {
  return `${issuer}/mcp`;
}

/** RFC 9728. */
export function resourceMetadata(issuer: string): ResourceMetadata {
  return {
    resource: resourceOf(issuer),
    authorization_servers: [issuer],
    scopes_supported: [...SCOPES],
    bearer_methods_supported: ["header"],
    resource_name: "Agent Mesh",
  };
}

/** RFC 8414, with the marks of RFC 9207 and of what is not supported. */
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
