/** Calls the route of a contract. The CLI, the dashboard, the relay client and the tests use it. */

import type * as z from "zod";
import type { Contract } from "kit/http/contract.ts";
import type { ProblemBody } from "kit/core/problem.ts";

type RequestInput<C extends Contract> =
  & {
    [P in "params" | "query" | "body" as C[P] extends z.ZodType ? P : never]: C[P] extends z.ZodType
      ? z.input<C[P]>
      : never;
  }
  & { headers?: Record<string, string>; signal?: AbortSignal };

/** A response as parsed JSON. Instants stay text. */
export type WireResponse<C extends Contract> = z.input<C["returns"]>;
export type Call = <C extends Contract>(
  contract: C,
  input: RequestInput<C>,
) => Promise<WireResponse<C>>;

/**
 * The address of a contract's route with the contract's types. A browser that imports the contract
 * itself would load its schemas too.
 */
export function endpoint<C extends Contract>(method: C["method"], path: C["path"]): C {
  return { method, path } as unknown as C;
}

/** A refusal that a caller received: the `error` code and its fields. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly problem: ProblemBody;

  constructor(status: number, problem: ProblemBody) {
    super(`${problem.error}: ${problem.detail}`);
    this.status = status;
    this.problem = problem;
  }
}

/** A request with its body as text. */
export interface PlainRequest {
  readonly url: URL;
  readonly method: Contract["method"];
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

/** The parts of a response that a call reads. */
export type PlainResponse = Pick<Response, "ok" | "status" | "json">;

export function client(
  base: string,
  send: (request: Request) => Promise<Response>,
  headers: Record<string, string> = {},
): Call {
  return plainClient(base, ({ url, ...init }) => send(new Request(url, init)), headers);
}

/** As `client`, without the `Request` and `Response` of `fetch`. */
export function plainClient(
  base: string,
  send: (request: PlainRequest) => Promise<PlainResponse>,
  headers: Record<string, string> = {},
): Call {
  return async (contract, input) => {
    const { body, signal } = input as { body?: unknown; signal?: AbortSignal };
    const response = await send({
      url: urlFor(base, contract, input),
      method: contract.method,
      headers: { ...headers, ...input.headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
    const result = await response.json();
    if (!response.ok) throw new ApiError(response.status, result);
    return result;
  };
}

function urlFor(base: string, contract: Contract, input: object): URL {
  const { params = {}, query = {} } = input as Record<string, Record<string, string | undefined>>;
  const path = contract.path.replace(
    /:(\w+)/g,
    // A lone surrogate has no UTF-8; its replacement makes the id unknown.
    (_, key: string) => encodeURIComponent((params[key] ?? "").toWellFormed()),
  );
  const url = new URL(`.${path}`, base.endsWith("/") ? base : `${base}/`);
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(key, value);
  }
  return url;
}
