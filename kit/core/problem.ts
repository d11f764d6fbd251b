/** Problems: errors that a server answers with a status, a code, a sentence, a hint and fields. */

import * as z from "zod";

/**
 * Defines a problem. `detail` is one sentence, in which `{field}` stands for the value of that
 * field. `publicCode` is the code that callers see; it is set if several rows, one for each status,
 * share one public code.
 */
export function problem<F extends z.ZodRawShape = Record<never, never>>(
  status: number,
  detail: string,
  hint = "",
  fields: F = {} as F,
  publicCode = "",
) {
  return {
    status,
    detail,
    hint,
    publicCode,
    /** Made when it is read, because the start needs only its type. */
    get fields() {
      return z.object(fields);
    },
  };
}

export type ProblemRow = ReturnType<typeof problem<z.ZodRawShape>>;

const Issue = z.object({ path: z.string(), message: z.string() });

/** The problems of any HTTP server with a database. `protocol/problems.ts` has the features'. */
// deno-fmt-ignore
export const COMMON_PROBLEMS = {
  not_found:            problem(404, "No such route: {method} {path}", "a daemon lists its routes in /openapi.json", { method: z.string(), path: z.string() }),
  method_not_allowed:   problem(405, "{path} does not take {method}", "use one of: {allow}", { method: z.string(), path: z.string(), allow: z.string() }),
  upgrade_required:     problem(426, "This route accepts WebSocket connections only", "use a WebSocket client, which sends the whole handshake"),
  body_too_large:       problem(413, "The body is larger than {bytes_max} bytes", "attach a file instead", { bytes_max: z.number() }),
  body_too_slow:        problem(408, "The body did not arrive in time: within {seconds} s, and while others wait, sooner", "send it again, as a whole; a file can be attached", { seconds: z.number() }),
  bad_json:             problem(400, "The body is not JSON: {reason}", "", { reason: z.string() }),
  invalid_request:      problem(422, "Invalid request: {summary}", "", { summary: z.string(), issues: z.array(Issue) }),
  storage_failed:       problem(503, "The database could not store this; nothing was changed", "try again; if it stays so, `mesh doctor` names the reason, such as a full disk"),
  storage_unclear:      problem(503, "The database failed while this ran; a part of it may be stored", "look before you send it again, such as with `mesh show ID`; if it stays so, `mesh doctor` names the reason"),
  shutting_down:        problem(503, "The server is shutting down", "try again when it has started"),
  internal:             problem(500, "Internal error; the log of this server has the cause", "a part of it may be stored: look before you send it again"),
  too_many_requests:    problem(429, "Too many requests", "try again in {retry_after_seconds} s", { retry_after_seconds: z.number() }, "rate_limited"),
  illegal_transition:   problem(409, `The {machine} is "{from}", which does not allow "{on}"`, "it has changed since you read it; read it again", { machine: z.string(), from: z.string(), on: z.string() }),
} as const;

type CommonCode = keyof typeof COMMON_PROBLEMS;

/** The response body, a flat object: public code, sentence, hint and the fields (contract 1). */
export type ProblemBody =
  & { error: string; detail: string; hint?: string }
  & Record<
    string,
    unknown
  >;

/** Fields that are also sent as headers. */
interface HeaderFields {
  readonly allow?: string;
  readonly retry_after_seconds?: number;
}

/** Headers of every response that must not be cached. */
export const UNCACHED_HEADERS = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
} as const;

/** The media type of server-sent events. */
export const EVENT_STREAM = "text/event-stream";

/**
 * Headers of an event stream. Proxies buffer what they compress, and nginx buffers every response
 * unless a header forbids it.
 */
export const STREAM_HEADERS = {
  ...UNCACHED_HEADERS,
  "cache-control": "no-store, no-transform",
  "content-type": EVENT_STREAM,
  "x-accel-buffering": "no",
} as const;

/** A problem, to be thrown. Any other thrown error becomes a 500 without details. */
export class Refusal<C extends string = string, F extends object = object> extends Error {
  override readonly name: string = "Problem";
  readonly code: C;
  readonly fields: F;
  /** The cause, which is logged and never sent. */
  override readonly cause: unknown;
  readonly #row: Omit<ProblemRow, "fields">;

  constructor(row: Omit<ProblemRow, "fields">, code: C, fields: F, cause?: unknown) {
    super(messageFor(row, code, fields, cause));
    this.#row = row;
    this.code = code;
    this.fields = fields;
    this.cause = cause;
  }

  get status(): number {
    return this.#row.status;
  }

  /** The code that callers see. */
  get publicCode(): string {
    return this.#row.publicCode || this.code;
  }

  toBody(): ProblemBody {
    const { detail, hint } = this.#row;
    const fields: Record<string, unknown> = Object.fromEntries(Object.entries(this.fields));
    const body = { error: this.publicCode, detail: fillTemplate(detail, fields) };
    const { summary: _, ...context } = fields;
    return { ...body, ...(hint && { hint: fillTemplate(hint, fields) }), ...context };
  }

  toResponse(): Response {
    const headers: Record<string, string> = { ...UNCACHED_HEADERS };
    if (this.publicCode === "unauthorized") headers["www-authenticate"] = "Bearer";
    const { allow, retry_after_seconds: seconds } = this.fields as HeaderFields;
    if (allow) headers["allow"] = allow;
    if (seconds !== undefined) headers["retry-after"] = String(seconds);
    return Response.json(this.toBody(), { status: this.status, headers });
  }
}

type CommonFields<C extends CommonCode> = z.input<(typeof COMMON_PROBLEMS)[C]["fields"]>;

/** One of the common problems. */
export class CommonProblem<C extends CommonCode = CommonCode> extends Refusal<C, CommonFields<C>> {
  constructor(code: C, fields: CommonFields<C>, cause?: unknown) {
    super(COMMON_PROBLEMS[code], code, fields, cause);
  }
}

/**
 * The message for logs, and for a program that must exit. A problem without fields spells out what
 * happened, why, and what to do; its code alone would not say that.
 */
function messageFor(
  { detail, hint }: Omit<ProblemRow, "fields">,
  code: string,
  fields: Readonly<object>,
  cause: unknown,
): string {
  if (Object.keys(fields).length > 0) return `${code} ${JSON.stringify(fields)}`;
  const why = cause instanceof Error ? ` (${cause.message})` : "";
  return `${detail}${why}${hint ? `; ${hint}` : ""}`;
}

/** Converts zod's issues to an `invalid_request` problem. */
export function invalidRequest(error: z.ZodError): CommonProblem<"invalid_request"> {
  const issues = error.issues.map(({ path, message }) => ({ path: path.join("."), message }));
  const summary = issues.map(({ path, message }) => path ? `${path}: ${message}` : message);
  return new CommonProblem("invalid_request", { summary: summary.join("; "), issues });
}

/** An `invalid_request` problem of one field, for a check that no schema can make. */
export function invalidField(path: string, message: string): CommonProblem<"invalid_request"> {
  const issues = [{ path, message }];
  return new CommonProblem("invalid_request", { summary: `${path}: ${message}`, issues });
}

function fillTemplate(template: string, fields: Record<string, unknown>): string {
  return template.replace(/\{(\w+)\}/g, (_, name) => String(fields[name]));
}
