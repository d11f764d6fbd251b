/** Routes: a contract joined to a function, registered on Hono, behind one door. */

import { type Context, Hono } from "hono";
import * as z from "zod";
import { type Contract, type RequestPart } from "kit/http/contract.ts";
import { IdempotencyKey } from "kit/core/schema.ts";
import { messageOf } from "kit/core/text.ts";
import { decodeUtf8, readRequestBody } from "kit/http/body.ts";
import { invalidRequest, Problem } from "kit/core/problem.ts";

export const BODY_BYTES_MAX = 1_048_576;

/** Who calls, as far as the request itself proves it (contract 2 and 10). */
export interface Caller {
  /** Where the other end of the socket is; undefined when it is no socket (tests, the tunnel). */
  readonly remote: Deno.NetAddr | undefined;
  /** A page that a person signed in to: one of the daemon by a ticket, or one of the relay. */
  readonly human: boolean;
  /** Holds the token, or needs none; only a route that checks by itself is called without. */
  readonly authorized: boolean;
  /** Sent the configured token. */
  readonly holds_token: boolean;
}

/** A request: parsed parts, who calls, and the signal of the caller's patience. */
export type ParsedRequest<C extends Contract> =
  & { [P in RequestPart]: C[P] extends z.ZodType ? z.output<C[P]> : undefined }
  & { readonly caller: Caller; readonly headers: Headers; readonly signal: AbortSignal };
export type Answer<C extends Contract> = z.output<C["returns"]>;
/** An answer, or how it is made once all is on the disk. */
export type HandlerResult<C extends Contract> = Answer<C> | (() => Answer<C>);

/** What a handler receives: the request, and a way to do its work once for each key. */
export type HandlerInput<C extends Contract> = ParsedRequest<C> & {
  /**
   * Does the work of a contract that says `once`: in one transaction with the request's key, where
   * it has one. What may be awaited is awaited before; a refusal keeps nothing.
   */
  readonly commit: (work: () => HandlerResult<C>) => HandlerResult<C>;
};

/** How a request that was done already is known, and what it is answered then. */
export interface Replay<C extends Contract> {
  /** Who sends it: a key is its sender's own. */
  sender(parsed: ParsedRequest<C>): string;
  /** The answer of then, with the same ids and the state of now. */
  again(before: Answer<C>): Answer<C>;
}

/** A request that is to be done once. */
export interface IdempotentRequest {
  readonly sender: string;
  readonly route: string;
  readonly key: string;
  readonly body: unknown;
}

/** Remembers what requests with an `Idempotency-Key` were answered (contract 1). */
export interface IdempotencyStore {
  /**
   * The answer it was given, as JSON; undefined for a new one. Refuses with `idempotency_mismatch`
   * a key that came with another body, with `idempotency_in_progress` one that still runs.
   */
  find(idempotent: IdempotentRequest): string | undefined;
  /** The request runs, until this is disposed of. */
  begin(idempotent: IdempotentRequest): Disposable;
  /** Does the work, and keeps what it answers as JSON, in one transaction. */
  runAndStore<T>(idempotent: IdempotentRequest, work: () => T, toJson: (done: T) => string): T;
}

export interface Route {
  readonly contract: Contract;
  run(context: Context, caller: Caller, guard: RouteGuard): Response | Promise<Response>;
}

/** What stands before every route, and what every answer waits for. */
export interface RouteGuard {
  /** Refuses a foreign Host or Origin. */
  admit(request: Request, remote: Deno.NetAddr | undefined): void;
  /** Refuses a caller without the token; tells who it is. */
  authorize(request: Request, contract: Contract, remote: Deno.NetAddr | undefined): Caller;
  /** See `Database.durable`: nothing leaves before it is on the disk. */
  whenDurable(): Promise<void> | undefined;
  /** Where nothing takes an `Idempotency-Key`, there is nothing to remember. */
  readonly idempotencyStore?: IdempotencyStore;
  error(error: unknown, request: Request): void;
}

const HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
const REPLAY_HEADERS = { ...HEADERS, "idempotent-replay": "true" };

/**
 * Joins a contract to its verb. A verb that answers a function has its answer made when what it did
 * is on the disk and its effects have run: `POST /ask` tells of its delivery what is known then.
 * A contract that says `once` needs a `replay`, and its verb does its work through `commit`.
 */
export function route<C extends Contract>(
  contract: C,
  handle: (input: HandlerInput<C>) => HandlerResult<C> | Promise<HandlerResult<C>>,
  replay?: Replay<C>,
): Route {
  if (contract.idempotent && !replay) {
    throw new Error(`${contract.id} is done once, and cannot replay`);
  }
  const answerOf = (outcome: HandlerResult<C>) =>
    z.encode(contract.returns, isDeferred(outcome) ? outcome() : outcome);
  const respond = async (
    outcome: HandlerResult<C>,
    guard: RouteGuard,
    headers: Record<string, string> = HEADERS,
  ) => {
    await guard.whenDurable();
    return Response.json(answerOf(outcome), { headers });
  };
  /** What it answers is kept as it is known inside of the transaction. */
  const toJson = (outcome: HandlerResult<C>) => JSON.stringify(answerOf(outcome));
  return {
    contract,
    async run(context, caller, guard) {
      const parsed = await readRequest(contract, context, caller);
      const key = replay && keyOf(parsed.headers);
      if (!replay || key === undefined || !guard.idempotencyStore) {
        const result = handle({ ...parsed, commit: (work) => work() });
        return await respond(isDeferred(result) ? result : await result, guard);
      }
      const { idempotencyStore } = guard;
      const idempotent = {
        sender: replay.sender(parsed),
        route: contract.id,
        key,
        body: parsed.body,
      };
      const before = idempotencyStore.find(idempotent);
      if (before !== undefined) {
        const answer = contract.returns.parse(JSON.parse(before)) as Answer<C>;
        return await respond(() => replay.again(answer), guard, REPLAY_HEADERS);
      }
      using _running = idempotencyStore.begin(idempotent);
      const commit = (work: () => HandlerResult<C>) =>
        idempotencyStore.runAndStore(idempotent, work, toJson);
      const result = handle({ ...parsed, commit });
      return await respond(isDeferred(result) ? result : await result, guard);
    },
  };
}

async function readRequest<C extends Contract>(
  contract: C,
  context: Context,
  caller: Caller,
): Promise<ParsedRequest<C>> {
  const request = context.req.raw;
  const json = contract.body && await readJson(request, contract.inspect);
  const body = contract.body && readBodyOf(contract.body, json);
  return {
    params: contract.params && read(contract.params, context.req.param()),
    query: contract.query && read(contract.query, context.req.query()),
    body,
    caller,
    headers: request.headers,
    signal: request.signal,
  } as ParsedRequest<C>;
}

const KeyHeader = z.object({ "idempotency-key": IdempotencyKey });

function keyOf(headers: Headers): string | undefined {
  const key = headers.get("idempotency-key");
  if (key === null) return undefined;
  read(KeyHeader, { "idempotency-key": key });
  return key;
}

/** For what is not JSON: the stream, uploads, pages, `/ws`. It waits for the disk by itself. */
export function rawRoute(
  contract: Contract,
  handle: (
    request: Request,
    caller: Caller,
    params: Readonly<Record<string, string>>,
  ) => Response | Promise<Response>,
): Route {
  return {
    contract,
    run: (context, caller) => handle(context.req.raw, caller, context.req.param()),
  };
}

function isDeferred<A>(result: A | (() => A) | Promise<A | (() => A)>): result is () => A {
  return typeof result === "function";
}

type FetchHandler = (request: Request, remote?: Deno.NetAddr) => Promise<Response>;

/** Turns routes into a `fetch`. The order of checks is contract 1's. */
export function serve(routes: readonly Route[], guard: RouteGuard): FetchHandler {
  const app = new Hono<{ Bindings: { remote: Deno.NetAddr | undefined } }>();
  for (const [path, methods] of groupByPath(routes)) {
    app.all(path, async (context) => {
      const { method } = context.req;
      const found = methods.get(method === "HEAD" ? "GET" : method);
      if (!found) throw wrongMethod(context.req.raw, [...methods.keys()]);
      const caller = guard.authorize(context.req.raw, found.contract, context.env.remote);
      const response = await found.run(context, caller, guard);
      return method === "HEAD" ? await toHeadResponse(response) : response;
    });
  }
  app.notFound((context) => {
    const { method, path } = context.req;
    throw new Problem("not_found", { method, path });
  });
  app.onError((error) => {
    throw error;
  });
  return async (request, remote) => {
    try {
      guard.admit(request, remote);
      return await app.fetch(request, { remote });
    } catch (error) {
      return await toErrorResponse(error, guard, request);
    }
  };
}

/** What an answer to `GET` says of itself; a stream has no length, and is not begun. */
async function toHeadResponse({ status, headers: original, body }: Response): Promise<Response> {
  const headers = new Headers(original);
  const isEventStream = headers.get("content-type") === "text/event-stream";
  if (isEventStream || headers.has("content-length")) await body?.cancel();
  else headers.set("content-length", String((await new Response(body).bytes()).length));
  return new Response(null, { status, headers });
}

/** A refusal tells what was read, so that it waits for the disk as well. */
async function toErrorResponse(
  error: unknown,
  guard: RouteGuard,
  request: Request,
): Promise<Response> {
  try {
    await guard.whenDurable();
  } catch (storageError) {
    error = storageError;
  }
  if (error instanceof Problem) return error.toResponse();
  guard.error(error, request);
  return new Problem("internal", {}).toResponse();
}

/** Literal paths come before those with parameters, so that `/asks/pending` is not an id. */
function groupByPath(routes: readonly Route[]): [string, Map<string, Route>][] {
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

/** As `read`; a field that may be absent may be null as well, as it is in the records we give. */
function readBodyOf(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { issues } = result.error;
  const nullsDropped = issues.filter((issue) => mayBeNull(issue) && dropNull(value, issue.path));
  if (nullsDropped.length === 0) throw invalidRequest(result.error);
  const again = schema.safeParse(value);
  if (again.success) return again.data;
  const wrong = new Set(again.error.issues.map(({ path }) => path.join(".")));
  const remaining = issues.filter(({ path }) => wrong.has(path.join(".")));
  // What is checked of a body as a whole comes to light once its fields fit.
  throw invalidRequest(remaining.length > 0 ? new z.ZodError(remaining) : again.error);
}

/** Not a length of time, as JSON writes a number that is none so, nor what is to be said. */
function mayBeNull({ path }: z.core.$ZodIssue): boolean {
  const field = String(path.at(-1));
  return field !== "text" && !field.endsWith("_seconds");
}

/** Deletes what a path leads to, if it is a field and null. Keys of our bodies are lower case. */
function dropNull(value: unknown, [key, ...rest]: readonly PropertyKey[]): boolean {
  if (typeof value !== "object" || value === null || key === undefined) return false;
  const name = Object.keys(value).find((name) => name.toLowerCase() === String(key));
  if (name === undefined) return false;
  const inner: unknown = Reflect.get(value, name);
  if (rest.length > 0) return dropNull(inner, rest);
  return inner === null && !Array.isArray(value) && Reflect.deleteProperty(value, name);
}

/** An empty body is `{}`; its type does not matter (contract 1). */
async function readJson(request: Request, inspect?: Contract["inspect"]): Promise<unknown> {
  const text = await readBody(request, BODY_BYTES_MAX);
  if (text.trim() === "") return {};
  const value = parseJson(text);
  inspect?.(text);
  return value;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = messageOf(error);
    throw new Problem("bad_json", { reason });
  }
}

/** The whole body as text, or a refusal before more than `bytes_max` of it are held. */
export function readBody(request: Request, bytes_max: number): Promise<string> {
  return refuseOnAbort(() => readText(request, bytes_max));
}

/** An aborted request body is a refusal of the request, not a failure of ours. */
export async function refuseOnAbort<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw error instanceof Problem ? error : new Problem("bad_json", { reason: "it broke off" });
  }
}

async function readText(request: Request, bytes_max: number): Promise<string> {
  const bytes = await readRequestBody(request, bytes_max);
  if (!bytes) throw new Problem("body_too_large", { bytes_max });
  const text = decodeUtf8(bytes);
  if (text === undefined) throw new Problem("bad_json", { reason: "it is not UTF-8" });
  return text;
}
