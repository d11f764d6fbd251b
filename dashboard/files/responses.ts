/** The responses with the page and its files, for the daemon and the relay. */

import { codingFor } from "kit/http/encoding.ts";
import { Problem } from "protocol/problems.ts";
import { storedFile } from "./contents.ts";
import { type PageMachine, withMachine } from "./machine.ts";
import { paint, parseIconName } from "./machine_icon.ts";
import type { StoredFile } from "./stored_file.ts";

export type { PageMachine };

/**
 * The page loads only files of its own origin. Trusted types prevent scripts from turning text into
 * markup. The one policy of that name returns the address of the service worker.
 */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types mesh-worker",
].join("; ");

const PAGE_HEADERS = {
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cache-control": "no-store",
};
const FILE_HEADERS = {
  "cross-origin-resource-policy": "same-origin",
  "x-content-type-options": "nosniff",
};
const SANDBOX = "default-src 'none'; sandbox";

/** The page, which is an empty frame; with a new cookie, if one is given. */
export async function dashboardPage(
  request: Request,
  machine: PageMachine,
  cookie?: string,
): Promise<Response> {
  const headers = { ...PAGE_HEADERS, ...(cookie !== undefined && { "set-cookie": cookie }) };
  return await respond(request, await withMachine(mustFind(request, "page"), machine), headers);
}

/** A file with a digest in its name, from the end of the request's path. */
export async function assetResponse(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const name = pathname.slice(pathname.lastIndexOf("/") + 1);
  const icon = parseIconName(name);
  const found = mustFind(request, `assets/${icon?.file ?? name}`);
  return await respond(request, icon ? await paint(found, icon.colour) : found, {
    ...FILE_HEADERS,
    "cache-control": "public, max-age=31536000, immutable",
    "content-security-policy": SANDBOX,
  });
}

export async function manifestResponse(
  request: Request,
  machine: PageMachine,
): Promise<Response> {
  const template = mustFind(request, "manifest.webmanifest");
  return await respond(request, await withMachine(template, machine), {
    ...FILE_HEADERS,
    "cache-control": "no-cache",
    "content-security-policy": SANDBOX,
  });
}

/**
 * The service worker of the page at `scope`. Without the header, a browser allows only the worker's
 * own folder as the scope, and the page is beside that folder.
 */
export async function workerResponse(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  return await respond(request, mustFind(request, "worker.js"), {
    ...FILE_HEADERS,
    "cache-control": "no-cache",
    "content-security-policy": "default-src 'none'; connect-src 'self'",
    "service-worker-allowed": pathname.slice(0, pathname.lastIndexOf("/")),
  });
}

function mustFind({ method, url }: Request, path: string): StoredFile {
  const file = storedFile(path);
  if (!file) throw new Problem("not_found", { method, path: new URL(url).pathname });
  return file;
}

/** A file in the coding that the caller prefers. Each coding has its own strong validator. */
async function respond(
  { headers: asked }: Request,
  file: StoredFile,
  fileHeaders: Readonly<Record<string, string>>,
): Promise<Response> {
  const coding = codingFor(asked.get("accept-encoding"), file.codings);
  const is_coded = coding !== "identity";
  const etag = `"${file.digest}${is_coded ? `-${coding}` : ""}"`;
  const headers = new Headers({ ...fileHeaders, etag, "vary": "accept-encoding" });
  const known = asked.get("if-none-match")?.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (known?.some((tag) => tag === etag || tag === "*")) {
    return new Response(null, { status: 304, headers });
  }
  const body = await file.read(coding);
  headers.set("content-type", file.type);
  headers.set("content-length", String(body.length));
  if (is_coded) headers.set("content-encoding", coding);
  return new Response(body, { headers });
}
