/** Routes: contracts with their handlers. */

import * as z from "zod";
import { type Actor, type Contract, NO_ACTOR, type RequestPart } from "kit/http/contract.ts";
import { IdempotencyKey } from "kit/core/schema.ts";
import { BODY_BYTES_MAX, parseJson, readBody } from "kit/http/body.ts";
import type { BodyLimiter } from "kit/http/body_limiter.ts";
import { RequestWrites } from "kit/data/request_writes.ts";
import { CommonProblem, invalidRequest, Refusal, UNCACHED_HEADERS } from "kit/core/problem.ts";

/** The caller of a request: only what the request itself proves (contracts 2 and 10). */
export interface Caller {
  /** The remote address of the socket. Undefined without a socket (tests, the tunnel). */
  readonly remote: Deno.NetAddr | undefined;
  /** True if the request comes from a signed-in page of the daemon or of the relay. */
  readonly human: boolean;
  /** True if the caller holds the token or needs none. False only for `public` and `checked`. */
  readonly authorized: boolean;
  /** True if the caller sent the configured token. */
  readonly holds_token: boolean;
  /** Absent if a program on this machine sends the request. */
  readonly via?: "page" | "relay" | "machine";
  /** True if nothing proves that the caller is the peer in whose name it acts (contract 11). */
  readonly unverified?: true;
  /** The paired device whose session sends the request; absent for other sessions. */
  readonly device_id?: string;
  /** True for a caller through the relay who may not administer: `relay.allow_admin` is off. */
  readonly admin_refused?: true;
}

/** The parsed parts of a request, without the types of its contract. */
export interface RequestParts {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly caller: Caller;
  readonly headers: Headers;
}

/** A request: its parsed parts, its caller, and a signal that aborts if the caller disconnects. */
type ParsedRequest<C extends Contract> =
  & { [P in RequestPart]: C[P] extends z.ZodType ? z.output<C[P]> : undefined }
  & { caller: Caller; readonly headers: Headers; readonly signal: AbortSignal };
type Answer<C extends Contract> = z.output<C["returns"]>;
/** A response, or a function that is called to make it once all writes are on the disk. */
type HandlerResult<C extends Contract> = Answer<C> | (() => Answer<C>);

/**
 * An answer that is sent before the handler's writes are on the disk, because it promises nothing
 * of them. If they fail, the caller does not learn it.
 */
export class AnswerBeforeCommit<A> {
  readonly answer: A;

  constructor(answer: A) {
    this.answer = answer;
  }
}

type Outcome<C extends Contract> = HandlerResult<C> | AnswerBeforeCommit<Answer<C>>;

export type HandlerInput<C extends Contract> = ParsedRequest<C> & {
  /**
   * Runs the work of an idempotent route. If the request has an `Idempotency-Key`, the work and the
   * storing of the key are one transaction, so a refusal stores nothing. Without a key, the work is
   * just called. Await any promise before this call.
   */
  commit: (work: () => HandlerResult<C>) => HandlerResult<C>;
};

/** How an idempotent route recognizes a repeated request and responds to it. */
interface Replay<C extends Contract> {
  /** The sender of the request. Each sender has its own keys. */
  sender(parsed: ParsedRequest<C>): string;
  /** The response to a repetition: the ids of the first response, with the current state. */
  again(before: Answer<C>): Answer<C>;
}

export interface IdempotentRequest {
  readonly sender: string;
  readonly route: string;
  readonly key: string;
  readonly body: unknown;
}

/** Stores the responses to requests that have an `Idempotency-Key` (contract 1). */
export interface IdempotencyStore {
  /**
   * The stored response as JSON; undefined for a new request. Throws `idempotency_mismatch` if the
   * key was used with another body, and `idempotency_in_progress` while the request runs.
   */
  find(idempotent: IdempotentRequest): string | undefined;
  /** Marks the request as running until the returned object is disposed. */
  begin(idempotent: IdempotentRequest): Disposable;
  /** Runs the work and stores its result as JSON, both in one transaction. */
  runAndStore<T>(idempotent: IdempotentRequest, work: () => T, toJson: (done: T) => string): T;
}

/** A request whose route is known. Hono's requests have this form. */
export interface RoutedRequest {
  readonly raw: Request;
  /** The parts of the path that the contract names. */
  param(): Record<string, string>;
  query(): Record<string, string>;
}

export interface Route {
  readonly contract: Contract;
  run(request: RoutedRequest, caller: Caller, guard: RouteGuard): Response | Promise<Response>;
}

/** The checks that run before every route, and the wait before every response. */
export interface RouteGuard {
  /** Throws if the request's Host or Origin is not allowed. */
  admit(request: Request, remote: Deno.NetAddr | undefined): void;
  /** Determines the caller. Throws if the contract does not allow this caller. */
  authorize(request: Request, contract: Contract, remote: Deno.NetAddr | undefined): Caller;
  /**
   * Checks that the caller may act as the contract's actor, and that no policy denies it the
   * contract's act; returns the caller with what is proved. Absent if no route has an actor.
   */
  checkActor?(actor: Actor, parts: RequestParts, verb?: string): Caller | Promise<Caller>;
  /** No response is sent before its writes are on the disk (see `Database.whenDurable`). */
  whenDurable(options?: { soon: boolean }): Promise<void> | undefined;
  /** Lets an answer leave before the commit (see `Database.letAnswerLeave`). */
  letAnswerLeave?(): void;
  /** Absent if no route is idempotent. */
  readonly idempotencyStore?: IdempotencyStore;
  /** Limits bodies. Absent if the server limits them before its routes. */
  readonly bodies?: BodyLimiter;
  error(error: unknown, request: Request): void;
  /** Called for each refusal and each failure, with its code. */
  refused?(code: string): void;
}

const REPLAY_HEADERS = { ...UNCACHED_HEADERS, "idempotent-replay": "true" };

/**
 * Joins a contract to its handler. If the handler returns a function, it is called when the writes
 * are on the disk and the effects have run, so that `POST /ask` can report its delivery. An
 * idempotent contract needs a `replay`, and its handler runs its work in `commit`.
 */
export function route<C extends Contract>(
  contract: C,
  handle: (input: HandlerInput<C>) => Outcome<C> | Promise<Outcome<C>>,
  replay?: Replay<C>,
): Route {
  if (contract.idempotent && !replay) {
    throw new Error(`${contract.id} is idempotent and needs a replay`);
  }
  const answerOf = (outcome: Outcome<C>) => z.encode(contract.returns, valueOf(outcome));
  const toResponse = (outcome: Outcome<C>, headers = UNCACHED_HEADERS) =>
    Response.json(answerOf(outcome), { headers });
  /** Called inside of the transaction, because the response is stored with it. */
  const toJson = (outcome: HandlerResult<C>) => JSON.stringify(answerOf(outcome));
  return {
    contract,
    async run(request, caller, guard) {
      const loading = RequestWrites.whenReady();
      if (loading) await loading;
      const text = contract.body && await readBody(request.raw, BODY_BYTES_MAX, guard.bodies);
      const parsed = readRequest(contract, { request, text, caller });
      const acting = actingCaller(contract, parsed, guard);
      if (acting) parsed.caller = acting instanceof Promise ? await acting : acting;
      const run = new HandlerRun(guard);
      const key = replay && keyOf(parsed.headers);
      if (!replay || key === undefined || !guard.idempotencyStore) {
        return toResponse(await run.finish(() => handle(parsed)));
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
        return toResponse(await run.finish(() => () => replay.again(answer)), REPLAY_HEADERS);
      }
      using _running = idempotencyStore.begin(idempotent);
      parsed.commit = (work) => idempotencyStore.runAndStore(idempotent, work, toJson);
      return toResponse(await run.finish(() => handle(parsed)));
    },
  };
}

/** The response of a raw route that answers in JSON. */
export function toJsonResponse<C extends Contract>(contract: C, answer: Answer<C>): Response {
  return Response.json(z.encode(contract.returns, answer), { headers: UNCACHED_HEADERS });
}

/** The caller of a request in a peer's name; undefined if the route has no actor. */
function actingCaller(
  { actor, verb }: Contract,
  parsed: RequestParts,
  { checkActor }: RouteGuard,
): Caller | Promise<Caller> | undefined {
  if (actor === undefined || actor === NO_ACTOR) return undefined;
  return checkActor?.(actor, parsed, verb);
}

/** A handler and what it writes. */
class HandlerRun {
  readonly #guard: RouteGuard;
  readonly #writes = new RequestWrites();

  constructor(guard: RouteGuard) {
    this.#guard = guard;
  }

  /** Runs a handler, and waits for it and for its writes. */
  finish<T>(handle: () => T | Promise<T>): T | Promise<T> {
    const result = this.#writes.run(handle);
    if (result instanceof Promise) {
      // It may have read what another request has written in the same turn.
      const begun = this.#guard.whenDurable({ soon: false });
      begun?.catch(() => undefined);
      return this.#finishLater(result, begun);
    }
    const commit = this.#guard.whenDurable();
    return commit ? commit.then(() => result) : result;
  }

  async #finishLater<T>(result: Promise<T>, begun: Promise<void> | undefined): Promise<T> {
    try {
      return await this.#whenStored(result, begun);
    } catch (error) {
      throw await this.#toRefusal(error);
    }
  }

  async #whenStored<T>(result: Promise<T>, begun: Promise<void> | undefined): Promise<T> {
    const outcome = await result;
    if (outcome instanceof AnswerBeforeCommit) {
      this.#guard.letAnswerLeave?.();
      return outcome;
    }
    try {
      await this.#guard.whenDurable();
      await begun;
    } catch (error) {
      // Others' writes cannot undo stored work, so a failure of theirs must not refuse it.
      if (!this.#writes.hasStored) throw error;
    }
    // A commit may also have failed while the handler went on.
    if (this.#writes.failure) throw this.#writes.failure;
    return outcome;
  }

  /** The error to answer with. `storage_failed` says that nothing was changed. */
  async #toRefusal(error: unknown): Promise<unknown> {
    let refusal = this.#writes.hasStored ? error : this.#writes.failure ?? error;
    try {
      await this.#guard.whenDurable();
    } catch (storageError) {
      refusal = storageError;
    }
    const isFailed = refusal instanceof Refusal && refusal.code === "storage_failed";
    if (!isFailed || !this.#writes.hasStored) return refusal;
    return new CommonProblem("storage_unclear", {}, refusal);
  }
}

/** Input of a handler. It is a class, because the runtime makes the signal when it is read. */
class RequestInput {
  readonly #raw: Request;
  caller: Caller;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  commit = <R>(work: () => R): R => work();

  constructor(raw: Request, caller: Caller, parts: Readonly<Record<RequestPart, unknown>>) {
    this.#raw = raw;
    this.caller = caller;
    this.params = parts.params;
    this.query = parts.query;
    this.body = parts.body;
  }

  get headers(): Headers {
    return this.#raw.headers;
  }

  get signal(): AbortSignal {
    return this.#raw.signal;
  }
}

/** Parses the parts of a request. `text` is its body, if the contract has one. */
function readRequest<C extends Contract>(
  contract: C,
  { request, text = "", caller }: {
    readonly request: RoutedRequest;
    readonly text: string | undefined;
    readonly caller: Caller;
  },
): HandlerInput<C> {
  const { raw } = request;
  const body = contract.body && readBodyOf(contract.body, readJson(text, contract.inspect));
  const params = contract.params && read(contract.params, request.param());
  const query = contract.query && read(contract.query, request.query());
  return new RequestInput(raw, caller, { params, query, body }) as unknown as HandlerInput<C>;
}

const KeyHeader = z.object({ "idempotency-key": IdempotencyKey });

function keyOf(headers: Headers): string | undefined {
  const key = headers.get("idempotency-key");
  if (key === null) return undefined;
  read(KeyHeader, { "idempotency-key": key });
  return key;
}

/**
 * A route whose body or response is not JSON: streams, uploads, pages, `/ws`. The handler itself
 * waits until its writes are on the disk.
 */
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
    async run(request, caller, { bodies }) {
      const { raw } = request;
      // A file is streamed to the disk, and limited there.
      const isHeld = bodies && raw.body !== null && contract.bodyType === undefined;
      if (!isHeld) return handle(raw, caller, request.param());
      using limited = bodies.begin(raw);
      return await handle(limited.request, caller, request.param());
    },
  };
}

function valueOf<C extends Contract>(outcome: Outcome<C>): Answer<C> {
  if (outcome instanceof AnswerBeforeCommit) return outcome.answer;
  return typeof outcome === "function" ? (outcome as () => Answer<C>)() : outcome;
}

function read(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalidRequest(result.error);
}

/** Validates a JSON body. Optional fields may be null as in responses. Throws `invalid_request`. */
export function readBodyOf<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { issues } = result.error;
  const nullsDropped = issues.filter(({ path }) =>
    mayBeNull(String(path.at(-1))) && dropNull(value, path)
  );
  if (nullsDropped.length === 0) throw invalidRequest(result.error);
  const again = schema.safeParse(value);
  if (again.success) return again.data;
  throw stillInvalid(result.error, again.error);
}

/** The refusal of a value that is invalid even after its correction. It names the sent value. */
export function stillInvalid(
  sent: z.ZodError,
  corrected: z.ZodError,
): CommonProblem<"invalid_request"> {
  const wrong = new Set(corrected.issues.map(({ path }) => path.join(".")));
  const issues = sent.issues.filter(({ path }) => wrong.has(path.join(".")));
  // Checks of the whole value run only when all its fields are valid.
  return invalidRequest(issues.length > 0 ? new z.ZodError(issues) : corrected);
}

/** True if null in an optional field means absent. Not for durations (NaN in JSON) or texts. */
export function mayBeNull(field: string): boolean {
  return field !== "text" && !field.endsWith("_seconds");
}

/** Deletes the field at a path if the field is null. Compares keys in lower case. */
function dropNull(value: unknown, [key, ...rest]: readonly PropertyKey[]): boolean {
  if (typeof value !== "object" || value === null || key === undefined) return false;
  const name = Object.keys(value).find((name) => name.toLowerCase() === String(key));
  if (name === undefined) return false;
  const inner: unknown = Reflect.get(value, name);
  if (rest.length > 0) return dropNull(inner, rest);
  return inner === null && !Array.isArray(value) && Reflect.deleteProperty(value, name);
}

/** An empty body is read as `{}`. The media type is not checked (contract 1). */
function readJson(text: string, inspect?: Contract["inspect"]): unknown {
  if (text.trim() === "") return {};
  const value = parseJson(text);
  inspect?.(text);
  return value;
}
