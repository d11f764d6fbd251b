/** Routes: a contract joined to a function, registered on Hono, behind one door. */

import { type Context, Hono } from "hono";
import { z } from "zod";
import type { Contract, Part } from "kit/contract.ts";
import { invalidRequest, Problem } from "kit/problem.ts";

export const BODY_BYTES_MAX = 1_048_576;

/** Who calls, as far as the request itself proves it (contract 2 and 10). */
export interface Caller {
  /** Where the other end of the socket is; undefined when it is no socket (tests, the tunnel). */
  readonly remote: Deno.NetAddr | undefined;
  /** A browser on the dashboard of this daemon. */
  readonly dashboard: boolean;
  /** Holds the token, or needs none; only a route that is open to all is called without. */
  readonly authorized: boolean;
}

/** What a handler receives: parsed parts, who calls, and the signal of the caller's patience. */
export type Input<C extends Contract> =
  & { [P in Part]: C[P] extends z.ZodType ? z.output<C[P]> : undefined }
  & { readonly caller: Caller; readonly headers: Headers; readonly signal: AbortSignal };
export type Answer<C extends Contract> = z.output<C["returns"]>;

export interface Route {
  readonly contract: Contract;
  run(context: Context, caller: Caller, door: Door): Response | Promise<Response>;
}

/** What stands before every route, and what every answer waits for. */
export interface Door {
  /** Refuses a foreign Host or Origin. */
  admit(request: Request, remote: Deno.NetAddr | undefined): void;
  /** Refuses a caller without the token; tells who it is. */
  authorize(request: Request, contract: Contract, remote: Deno.NetAddr | undefined): Caller;
  /** See `Database.durable`: nothing leaves before it is on the disk. */
  durable(): Promise<void> | undefined;
  fault(fault: unknown): void;
}

const HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/**
 * Joins a contract to its verb. A verb that answers a function has its answer made when what it did
 * is on the disk and its effects have run: `POST /ask` tells of its delivery what is known then.
 */
export function route<C extends Contract>(
  contract: C,
  handle: (
    input: Input<C>,
  ) => Answer<C> | Promise<Answer<C> | (() => Answer<C>)> | (() => Answer<C>),
): Route {
  return {
    contract,
    async run(context, caller, door) {
      const request = context.req.raw;
      const body = contract.body && read(contract.body, await readJson(request));
      const input = {
        params: contract.params && read(contract.params, context.req.param()),
        query: contract.query && read(contract.query, context.req.query()),
        body,
        caller,
        headers: request.headers,
        signal: request.signal,
      } as Input<C>;
      const result = handle(input);
      const answer = isLater(result) ? result : await result;
      await door.durable();
      const said = z.encode(contract.returns, isLater(answer) ? answer() : answer);
      return Response.json(said, { headers: HEADERS });
    },
  };
}

/** For what is not JSON: the stream, uploads, pages, `/ws`. It waits for the disk by itself. */
export function rawRoute(
  contract: Contract,
  handle: (request: Request, caller: Caller) => Response | Promise<Response>,
): Route {
  return { contract, run: (context, caller) => handle(context.req.raw, caller) };
}

function isLater(result: unknown): result is () => unknown {
  return typeof result === "function";
}

type Serve = (request: Request, remote?: Deno.NetAddr) => Promise<Response>;

/** Turns routes into a `fetch`. The order of checks is contract 1's. */
export function serve(routes: readonly Route[], door: Door): Serve {
  const app = new Hono<{ Bindings: { remote: Deno.NetAddr | undefined } }>();
  for (const [path, methods] of byPath(routes)) {
    app.all(path, async (context) => {
      const { method } = context.req;
      const found = methods.get(method === "HEAD" ? "GET" : method);
      if (!found) throw wrongMethod(context.req.raw, [...methods.keys()]);
      const caller = door.authorize(context.req.raw, found.contract, context.env.remote);
      return await found.run(context, caller, door);
    });
  }
  app.notFound((context) => {
    const { method, path } = context.req;
    throw new Problem("not_found", { method, path });
  });
  app.onError((fault) => {
    throw fault;
  });
  return async (request, remote) => {
    try {
      door.admit(request, remote);
      return await app.fetch(request, { remote });
    } catch (fault) {
      return await refusal(fault, door);
    }
  };
}

/** A refusal tells what was read, so that it waits for the disk as well. */
async function refusal(fault: unknown, door: Door): Promise<Response> {
  try {
    await door.durable();
  } catch (stronger) {
    fault = stronger;
  }
  if (fault instanceof Problem) return fault.toResponse();
  door.fault(fault);
  return new Problem("internal", {}).toResponse();
}

/** Literal paths come before those with parameters, so that `/asks/pending` is not an id. */
function byPath(routes: readonly Route[]): [string, Map<string, Route>][] {
  const paths = new Map<string, Map<string, Route>>();
  for (const route of routes) {
    const { path, method } = route.contract;
    paths.getOrInsertComputed(path, () => new Map()).set(method, route);
  }
  const rank = (path: string) => path.replaceAll(/:\w+/g, "\uffff");
  return [...paths].sort(([a], [b]) => rank(a) < rank(b) ? -1 : 1);
}

function wrongMethod(request: Request, known: string[]): Problem {
  const allow = known.toSorted().join(", ");
  const { pathname } = new URL(request.url);
  return new Problem("method_not_allowed", { method: request.method, path: pathname, allow });
}

function read(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalidRequest(result.error);
}

/** An empty body is `{}`; its type does not matter (contract 1). */
async function readJson(request: Request): Promise<unknown> {
  const text = await readBody(request, BODY_BYTES_MAX);
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch (fault) {
    const reason = fault instanceof Error ? fault.message : String(fault);
    throw new Problem("bad_json", { reason });
  }
}

/** The whole body as text, or a refusal before more than `bytes_max` of it are held. */
async function readBody(request: Request, bytes_max: number): Promise<string> {
  const announced = request.headers.get("content-length");
  if (announced !== null) {
    if (Number(announced) > bytes_max) throw new Problem("body_too_large", { bytes_max });
    return await request.text();
  }
  if (!request.body) return "";
  const decoder = new TextDecoder();
  let text = "", bytes = 0;
  for await (const chunk of request.body) {
    bytes += chunk.byteLength;
    if (bytes > bytes_max) throw new Problem("body_too_large", { bytes_max });
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
