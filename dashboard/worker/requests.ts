/** Which requests the service worker answers: the page, and the files that came with it. */

/** Begins the names of the worker's caches. */
export const CACHE_PREFIX = "mesh-page ";

/** `scope` is the address of the page. */
type Requested = Pick<Request, "url" | "mode" | "method">;

/** Whether a request opens the page itself. */
export function isPage({ url, mode, method }: Requested, scope: string): boolean {
  return method === "GET" && mode === "navigate" && url.split(/[?#]/, 1)[0] === scope;
}

/** Whether a request is for one of the files; they have no query. */
export function isFile({ url, method }: Requested, scope: string, files: readonly string[]) {
  return method === "GET" && files.some((file) => url === `${scope}/${file}`);
}
