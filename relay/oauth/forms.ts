/** Reads OAuth parameters, request bodies and cookies, strictly and with limits. */

import { decodeUtf8, readRequestBody } from "kit/http/body.ts";
import { OAuthRefusal } from "./refusals.ts";

/** Body limit: room for 4 KiB of redirect URIs plus the other client metadata. */
const BODY_BYTES_MAX = 32_768;
const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;

/**
 * Request parameters. `get` returns neither an empty parameter, which counts as absent, nor a
 * repeated one, which is not allowed (RFC 6749 3.1).
 */
export interface Params {
  get(name: string): string | undefined;
  /** The names of repeated parameters. */
  readonly repeated: readonly string[];
}

export function paramsOf(search: URLSearchParams): Params {
  const values = new Map<string, string>(), repeated = new Set<string>();
  for (const [name, value] of search) {
    if (values.has(name)) repeated.add(name);
    values.set(name, value);
  }
  return {
    get: (name) => repeated.has(name) ? undefined : values.get(name) || undefined,
    repeated: [...repeated],
  };
}

/** Reads the parameters of a form. Throws if a parameter is repeated or in the URL. */
export async function formOf(request: Request): Promise<Params> {
  if (new URL(request.url).search !== "") throw new OAuthRefusal("in_query");
  if (!FORM.test(request.headers.get("content-type") ?? "")) throw new OAuthRefusal("wrong_media");
  const params = paramsOf(new URLSearchParams(await bodyOf(request)));
  if (params.repeated.length > 0) throw new OAuthRefusal("repeated", params.repeated.join(", "));
  return params;
}

export function mustGet(params: Params, name: string): string {
  const value = params.get(name);
  if (value === undefined) throw new OAuthRefusal("missing", name);
  return value;
}

/** Reads the body as text. Throws as soon as the body exceeds the limit. */
export async function bodyOf(request: Request): Promise<string> {
  const bytes = await readRequestBody(request, BODY_BYTES_MAX).catch(() => {
    throw new OAuthRefusal("broken_off"); // The client has aborted its request.
  });
  if (!bytes) throw new OAuthRefusal("too_large", String(BODY_BYTES_MAX));
  const text = decodeUtf8(bytes);
  if (text === undefined) throw new OAuthRefusal("not_text");
  return text;
}
