/** Makes a machine's response safe for a browser: data or a download, never a page (contract 9). */

import {
  cleanFilename,
  cleanMediaType,
  OCTET_STREAM,
  toContentDisposition,
} from "kit/http/filenames.ts";
import { codingFor } from "kit/http/encoding.ts";
import { EVENT_STREAM, STREAM_HEADERS, UNCACHED_HEADERS } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import { abandon } from "kit/net/tunnel/stream.ts";
import { SANDBOX } from "../web/page.ts";
import { NO_BODY_STATUSES } from "protocol/relay/daemons.ts";

/** Media types that the relay's pages read. A browser displays them as text only. */
const DATA = /^(?:text\/event-stream|application\/(?:[a-z0-9!#$&^_.-]+\+)?json)$/;
const DISPOSITION_LENGTH_MAX = 2048;
const FILENAME_LENGTH_MAX = 255;

/**
 * Rebuilds a response for the relay's origin, in which a browser also holds the sessions of other
 * relay secrets. The daemon decides the status and the content; the relay decides how a browser may
 * use them.
 */
export async function toBrowserResponse(
  daemon_id: string,
  answer: Response,
  { headers: asked }: Pick<Request, "headers">,
): Promise<Response> {
  const { status, headers: original, body } = answer;
  if (status >= 300 && status < 400 && status !== 304) {
    // No route of a daemon redirects, and the tunnel does not pass `Location`.
    await abandon(body);
    throw new Problem("bad_daemon_answer", { daemon_id });
  }
  const headers = new Headers(original);
  for (const name of ["content-type", "content-disposition"]) headers.delete(name);
  // Compressed data passes as it is. The browser has named this coding, so it can undo it.
  const is_gzip = original.get("content-encoding") === "gzip" &&
    codingFor(asked.get("accept-encoding"), ["gzip"]) === "gzip";
  if (!is_gzip) headers.delete("content-encoding");
  if (NO_BODY_STATUSES.has(status)) headers.delete("content-length");
  else setContentHeaders(headers, original);
  headers.set("content-security-policy", SANDBOX);
  const isStream = headers.get("content-type") === EVENT_STREAM;
  for (const [name, value] of Object.entries(isStream ? STREAM_HEADERS : UNCACHED_HEADERS)) {
    headers.set(name, value);
  }
  if (!isStream) headers.set("vary", "accept-encoding");
  headers.set("cross-origin-resource-policy", "same-origin");
  headers.set("referrer-policy", "no-referrer");
  headers.set("x-frame-options", "DENY");
  return new Response(body, { status, headers });
}

/** Sets a clean media type, so that no parameter or second value of the daemon is passed on. */
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

/** The cleaned file name in a `Content-Disposition` (RFC 6266). Undefined if it names no file. */
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
  const name = decode(found.get("filename*")) ?? unquote(found.get("filename"));
  return name === undefined ? undefined : cleanFilename(name.slice(0, FILENAME_LENGTH_MAX));
}

/** Decodes an RFC 8187 value. Supports UTF-8 only. */
function decode(value: string | undefined): string | undefined {
  const [, text] = ENCODED.exec(value ?? "") ?? [];
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined; // The value is invalid UTF-8.
  }
}

function unquote(value: string | undefined): string | undefined {
  if (!value?.startsWith('"')) return value;
  return value.slice(1, -1).replaceAll(/\\(.)/g, "$1");
}
