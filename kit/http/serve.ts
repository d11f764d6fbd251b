/** Serves routes: finds the route of a request, behind the guard. */

import { Hono } from "hono";
import { CommonProblem, EVENT_STREAM, Refusal } from "kit/core/problem.ts";
import { refusesItsMethod } from "kit/http/contract.ts";
import { CLIENT_CLOSED_REQUEST } from "kit/http/body.ts";
import { compressJson } from "kit/http/encoding.ts";
import type { Route, RoutedRequest, RouteGuard } from "kit/http/route.ts";

type FetchHandler = (request: Request, remote?: Deno.NetAddr) => Promise<Response>;

type Methods = ReadonlyMap<string, Route>;

/** Serves the routes. Section 1 of the contract defines the order of the checks. */
export function serve(routes: readonly Route[], guard: RouteGuard): FetchHandler {
  const paths = groupByPath(routes);
  const literalPaths: ReadonlyMap<string, Methods> = new Map(
    paths.filter(([path]) => !/[:*]/.test(path)),
  );
  const app = new Hono<{ Bindings: { remote: Deno.NetAddr | undefined } }>();
  for (const [path, methods] of paths) {
    for (const [method, route] of methods) {
      app.on(method, path, ({ req, env }) => run(route, req, env.remote, guard));
    }
  }
  app.notFound(({ req }) => {
    const methods = paths.filter(([path]) => patternOf(path).test(req.path))
      .flatMap(([, found]) => [...found]);
    throw methods.length > 0
      ? wrongMethod(req.raw, new Map(methods))
      : new CommonProblem("not_found", { method: req.raw.method, path: req.path });
  });
  app.onError((error) => {
    throw error;
  });
  return async (request, remote) => {
    try {
      guard.admit(request, remote);
      // Most requests are for a path without parameters, which needs no search.
      const route = literalPaths.get(pathOf(request.url))?.get(routedMethod(request));
      if (route) return await run(route, toRoutedRequest(request), remote, guard);
      return await app.fetch(request, { remote });
    } catch (error) {
      return await toErrorResponse(error, guard, request);
    }
  };
}

function run(
  route: Route,
  request: RoutedRequest,
  remote: Deno.NetAddr | undefined,
  guard: RouteGuard,
): Response | Promise<Response> {
  const { raw } = request;
  const { contract } = route;
  const caller = guard.authorize(raw, contract, remote);
  const answer = route.run(request, caller, guard);
  const response = contract.compressed ? compressJson(raw, answer) : answer;
  return raw.method === "HEAD" ? toHeadResponse(response) : response;
}

function routedMethod({ method }: Request): string {
  return method === "HEAD" ? "GET" : method;
}

/** A pattern that matches the request paths of a route. */
export function patternOf(path: string): RegExp {
  const literal = path.replaceAll(".", "\\.");
  return new RegExp(`^${literal.replaceAll(/:\w+/g, "[^/]+").replace("*", ".*")}$`);
}

/** The path with its query, as it is in the URL. */
function pathOf(url: string): string {
  return url.slice(url.indexOf("/", url.indexOf("://") + 3));
}

/** A request whose path has no parameters and no query. */
function toRoutedRequest(raw: Request): RoutedRequest {
  return { raw, param: () => ({}), query: () => ({}) };
}

/** Makes the response to `HEAD` from the response to `GET`. An event stream has no length. */
async function toHeadResponse(response: Response | Promise<Response>): Promise<Response> {
  const { status, headers: original, body } = await response;
  const headers = new Headers(original);
  const isEventStream = headers.get("content-type") === EVENT_STREAM;
  if (isEventStream || headers.has("content-length")) await body?.cancel();
  else headers.set("content-length", String((await new Response(body).bytes()).length));
  return new Response(null, { status, headers });
}

/**
 * Waits for the disk, because a refusal may reveal data that the handler has read. A handler that
 * ends with its client's connection has not failed.
 */
async function toErrorResponse(
  error: unknown,
  guard: RouteGuard,
  request: Request,
): Promise<Response> {
  if (request.signal.aborted && error === request.signal.reason) {
    return new Response(null, { status: CLIENT_CLOSED_REQUEST });
  }
  try {
    await guard.whenDurable();
  } catch (storageError) {
    // A commit of others says nothing about this request.
    const isUnclear = error instanceof Refusal && error.code === "storage_unclear";
    if (!isUnclear) error = storageError;
  }
  guard.refused?.(error instanceof Refusal ? error.code : "internal");
  if (error instanceof Refusal) return error.toResponse();
  guard.error(error, request);
  return new CommonProblem("internal", {}).toResponse();
}

/**
 * The order decides between paths of one method that match one request. Literal segments come
 * first, the last segment counting most: `pending` in `/asks/pending` is no id, and
 * `/peers/by-pane/usage` is about a peer named `by-pane`. A path that ends with `*` comes last.
 */
function groupByPath(routes: readonly Route[]): [string, Map<string, Route>][] {
  const paths = new Map<string, Map<string, Route>>();
  for (const route of routes) {
    const { path, described_path = path, method } = route.contract;
    for (const served of new Set([path, described_path])) {
      paths.getOrInsertComputed(served, () => new Map()).set(method, route);
    }
  }
  const rank = (path: string) =>
    path.replaceAll(/:\w+/g, "\ufffe").replace("*", "\uffff").split("/").toReversed().join("/");
  const ranked = [...paths].map((entry) => ({ entry, rank: rank(entry[0]) }));
  return ranked.sort((a, b) => a.rank < b.rank ? -1 : 1).map(({ entry }) => entry);
}

function wrongMethod(request: Request, methods: Methods): Refusal {
  const { pathname } = new URL(request.url);
  const allow = allowedMethods(methods).join(", ");
  return new CommonProblem("method_not_allowed", { method: request.method, path: pathname, allow });
}

/** A path with `GET` also serves `HEAD`. */
function allowedMethods(methods: Methods): string[] {
  const taken = [...methods].filter(([, { contract }]) => !refusesItsMethod(contract));
  return taken.flatMap(([method]) => method === "GET" ? ["GET", "HEAD"] : [method]).sort();
}
