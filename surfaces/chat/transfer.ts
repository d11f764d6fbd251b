/** Requests to the server of a chat. No error contains the address, which may hold a token. */

import type { Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { ChatError } from "./chat.ts";

/** The way to the server of a chat. */
export interface ServerAccess {
  readonly base: string;
  readonly clock: Clock;
  readonly fetch: (request: Request) => Promise<Response>;
}

export interface TransferOptions<A> {
  readonly read: (response: Response) => Promise<A>;
  /** Time limit for the whole answer. */
  readonly ms: number;
  readonly signal: AbortSignal;
}

/**
 * Sends a request, and returns the response as `read` returns it. Redirects are not followed,
 * because they would get the token. Throws a `ChatError` if the answer is lost.
 */
export async function transfer<A>(
  { clock, fetch }: ServerAccess,
  title: string,
  [url, init]: readonly [url: string, init: RequestInit],
  { read, ms, signal }: TransferOptions<A>,
): Promise<A> {
  const lost = new ChatError("unclear", `${title}'s answer was lost`);
  const done = await timeout(clock, ms, async (limit) => {
    try {
      const request = new Request(url, { ...init, redirect: "manual", signal: limit });
      return { answer: await read(await fetch(request)) };
    } catch (error) {
      if (error instanceof ChatError) throw error;
      throw isConnectError(error) ? new ChatError("network", `${title} cannot be reached`) : lost;
    }
  }, signal);
  signal.throwIfAborted();
  if (!done) throw lost;
  return done.answer;
}

/** True if `fetch` failed before it sent the request. */
function isConnectError(error: unknown): boolean {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : "";
  return cause.includes("client error (Connect)");
}
