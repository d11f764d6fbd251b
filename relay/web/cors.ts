/** Lets scripts of any site call the paths of remote MCP and its OAuth (contract 11). */

/**
 * Discovery, registration, tokens and MCP. They take no cookie, and a browser sends none to an
 * answer for any origin, so a foreign page can do no more than any program.
 */
const OPEN_PATHS = /^\/(\.well-known\/.*|oauth\/(register|token|revoke)|mcp\/?)$/;

/** Time for which a browser keeps the answer to a preflight. Most browsers allow no more. */
const PREFLIGHT_SECONDS = 7200;

/** The wildcard stands for every header but `Authorization`. Old browsers need each name. */
const REQUEST_HEADERS = "*, Authorization, Content-Type, Mcp-Protocol-Version, Mcp-Session-Id, " +
  "Mcp-Method, Mcp-Name, Last-Event-ID";

const RESPONSE_HEADERS = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "WWW-Authenticate, Mcp-Session-Id, Mcp-Protocol-Version",
};

/** True if pages of any site may call this path. */
export function isOpenToPages(path: string): boolean {
  return OPEN_PATHS.test(path);
}

/** The answer to a preflight, which browsers send before a request of another site's page. */
export function preflightResponse(): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...RESPONSE_HEADERS,
      "access-control-allow-methods": "GET, POST, DELETE",
      "access-control-allow-headers": REQUEST_HEADERS,
      "access-control-max-age": String(PREFLIGHT_SECONDS),
    },
  });
}

/** Opens a response to pages of any site. A 405 also allows the preflight. */
export function openToPages(response: Response): Response {
  const { headers } = response;
  for (const [name, value] of Object.entries(RESPONSE_HEADERS)) headers.set(name, value);
  const allow = headers.get("allow");
  if (allow !== null) headers.set("allow", `${allow}, OPTIONS`);
  return response;
}
