/** Makes a machine's response safe for a browser: data or a download, never a page (contract 9). */

import {
  cleanFilename,
  cleanMediaType,
  OCTET_STREAM,
  toContentDisposition,
} from "kit/http/filenames.ts";
import { Problem } from "kit/core/problem.ts";
import { abandon } from "kit/net/tunnel/stream.ts";
import { SANDBOX } from "../web/page.ts";

/** Types that the relay's pages read, and that a browser displays as text only. */
const DATA = /^(?:text\/event-stream|application\/(?:[a-z0-9!#$&^_.-]+\+)?json)$/;
/** Statuses without a body, and so without a media type. */
const NO_BODY_STATUSES: ReadonlySet<number> = new Set([204, 205, 304]);
const DISPOSITION_LENGTH_MAX = 2048;
const FILENAME_LENGTH_MAX = 255;

/**
 * Rebuilds a response for the relay's origin, which has the sessions of other secrets, too. The
 * daemon determines status and content; the relay determines how a browser may use them.
 */
export async function toBrowserResponse(daemon_id: string, answer: Response): Promise<Response> {
  const { status, headers: original, body } = answer;
  if (status >= 300 && status < 400 && status !== 304) {
    // No route of a daemon redirects, and `Location` does not pass the tunnel.
    await abandon(body);
    throw new Problem("bad_daemon_answer", { daemon_id });
  }
  const headers = new Headers(original);
  for (const name of ["content-type", "content-disposition"]) headers.delete(name);
  if (NO_BODY_STATUSES.has(status)) headers.delete("content-length");
  else setContentHeaders(headers, original);
  headers.set("content-security-policy", SANDBOX);
  headers.set("cache-control", "no-store");
  headers.set("cross-origin-resource-policy", "same-origin");
  headers.set("referrer-policy", "no-referrer");
  headers.set("x-content-type-options", "nosniff");
  headers.set("x-frame-options", "DENY");
  return new Response(body, { status, headers });
}

/** Cleans the media type, so that no parameter or second value of the daemon is passed on. */
function setContentHeaders(headers: Headers, original: Headers): void {
  const type = cleanMediaType(original.get("content-type") ?? OCTET_STREAM);
  headers.set("content-type", type);
  const dispositionHeader = original.get("content-disposition") ?? "";
  const isDownload = !DATA.test(type) || /^\s*attachment\s*(?:;|$)/i.test(dispositionHeader);
  if (!isDownload) return;
  const name = filenameOf(dispositionHeader);
  headers.set(
    "content-disposition",
    name === undefined ? "attachment" : toContentDisposition(name),
  );
}

const PARAMETER = /\s*;\s*([\w*-]{1,32})\s*=\s*("(?:[^"\\]|\\.)*"|[^\s";,]+)/y;
const ENCODED = /^utf-8'[\w-]*'([\w!#$&+.^`|~%-]+)$/i;

/** The cleaned file name of a `Content-Disposition` (RFC 6266); undefined without one. */
function filenameOf(dispositionHeader: string): string | undefined {
  if (dispositionHeader.length > DISPOSITION_LENGTH_MAX) return undefined;
  const kind = /^\s*(?:attachment|inline)(?=\s*;)/i.exec(dispositionHeader)?.[0];
  if (kind === undefined) return undefined;
  const found = new Map<string, string>();
  for (let at = kind.length; at < dispositionHeader.length;) {
    PARAMETER.lastIndex = at;
    const [match = "", name = "", value = ""] = PARAMETER.exec(dispositionHeader) ?? [];
    if (match === "" || found.has(name.toLowerCase())) return undefined;
    found.set(name.toLowerCase(), value);
    at += match.length;
  }
  const name = decoded(found.get("filename*")) ?? unquoted(found.get("filename"));
  return name === undefined ? undefined : cleanFilename(name.slice(0, FILENAME_LENGTH_MAX));
}

/** Decodes an RFC 8187 value, in UTF-8 only. */
function decoded(value: string | undefined): string | undefined {
  const [, text] = ENCODED.exec(value ?? "") ?? [];
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined; // Invalid UTF-8.
  }
}

function unquoted(value: string | undefined): string | undefined {
  if (!value?.startsWith('"')) return value;
  return value.slice(1, -1).replaceAll(/\\(.)/g, "$1");
}
