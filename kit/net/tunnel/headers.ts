/** Headers that pass a tunnel: none that identify the caller or affect the relay's origin. */

/** Request headers that may pass. Those that identify the caller, such as `cookie`, may not. */
const REQUEST_HEADERS: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "content-length",
  "content-type",
  "idempotency-key",
  "if-modified-since",
  "if-none-match",
  "last-event-id",
  "range",
  "traceparent",
]);

/**
 * Response headers that pass. Headers that affect the relay's origin do not, such as `set-cookie`,
 * policies and caching; the relay sets those itself (`relay/daemons/browser_response.ts`).
 */
const RESPONSE_HEADERS: ReadonlySet<string> = new Set([
  "accept-ranges",
  "allow",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-length",
  "content-range",
  "content-type",
  "etag",
  "idempotent-replay",
  "last-modified",
  "retry-after",
]);

type HeaderPairs = [name: string, value: string][];

/** The `Content-Length`. `Infinity` if it is absent, undefined if it is invalid. */
export function contentLengthOf(headers: Iterable<readonly [string, string]>): number | undefined {
  const lengths = [...headers].filter(([name]) => name.toLowerCase() === "content-length");
  const [first] = lengths;
  if (!first) return Infinity;
  return lengths.length === 1 && /^\d{1,15}$/.test(first[1]) ? Number(first[1]) : undefined;
}

export function requestHeaders(headers: Iterable<readonly [string, string]>): HeaderPairs {
  return pickAllowed(headers, REQUEST_HEADERS);
}

export function responseHeaders(headers: Iterable<readonly [string, string]>): HeaderPairs {
  return pickAllowed(headers, RESPONSE_HEADERS);
}

function pickAllowed(
  headers: Iterable<readonly [string, string]>,
  names: ReadonlySet<string>,
): HeaderPairs {
  return [...headers].map(([name, value]): [string, string] => [name.toLowerCase(), value])
    .filter(([name]) => names.has(name));
}
