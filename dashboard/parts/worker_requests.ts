/** The requests that the service worker answers: for the page and its files. */

/** Begins the names of the worker's caches. */
export const CACHE_PREFIX = "mesh-page ";

/** `scope` is the address of the page. */
type Requested = Pick<Request, "url" | "mode" | "method">;

/** True if a request opens the page itself. */
export function isPage({ url, mode, method }: Requested, scope: string): boolean {
  return method === "GET" && mode === "navigate" && url.split(/[?#]/, 1)[0] === scope;
}

/** True if a request is for one of the files, which have no query. */
export function isFile({ url, method }: Requested, scope: string, files: readonly string[]) {
  return method === "GET" && files.some((file) => url === `${scope}/${file}`);
}
