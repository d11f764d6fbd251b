/** Requests out of the tunnel, answered by the daemon's own routes in this very process. */

import { afterSocketReads } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import type { RequestHead } from "kit/net/tunnel/frames.ts";
import { requestHeaders, responseHeaders } from "kit/net/tunnel/headers.ts";
import { type Body, type Stream, StreamError } from "kit/net/tunnel/stream.ts";
import type { MultiplexedConnection } from "kit/net/tunnel/multiplexed.ts";

/** The routes as they are reached through each of the relay's doors. */
export type TunnelRoutes = Readonly<
  Record<RequestHead["door"], (request: Request) => Promise<Response>>
>;

/** No request gets out of this process: the name is nobody's. */
const BASE_URL = "http://tunnel.invalid";

export interface AnswerDeps {
  readonly tunnelRoutes: TunnelRoutes;
  readonly log: Log;
}

/** A request that came through. */
export interface TunnelRequest {
  readonly head: RequestHead;
  readonly stream: Stream;
  readonly body: Body | null;
}

/** Requests that begin in one turn: whoever calls the daemon itself gets in between. */
const STARTED_PER_TURN = 4;

/** Lets what comes through begin in turns: a relay that asks for much at once stops nobody else. */
export class RequestScheduler {
  readonly #waiting: [stream: Stream, run: () => void][] = [];
  #started = 0;

  schedule(stream: Stream, run: () => void): void {
    const canStart = this.#started < STARTED_PER_TURN && this.#waiting.length === 0;
    if (canStart) this.#start(run);
    else this.#waiting.push([stream, run]);
  }

  #start(run: () => void): void {
    if (this.#started++ === 0) afterSocketReads(() => this.#startNext());
    run();
  }

  #startNext(): void {
    this.#started = 0;
    while (this.#started < STARTED_PER_TURN) {
      const [stream, run] = this.#waiting.shift() ?? [];
      if (!stream || !run) return;
      if (!stream.ended.aborted) this.#start(run); // Else nobody waits for it any more.
    }
  }
}

/** Answers one request, whatever comes of it; a slow one stands in nobody's way. */
export async function answerTunnelRequest(
  { tunnelRoutes, log }: AnswerDeps,
  trunk: Pick<MultiplexedConnection, "answer">,
  { head, stream, body }: TunnelRequest,
): Promise<void> {
  const { method, path, door } = head;
  if (body && (method === "GET" || method === "HEAD")) {
    return stream.cancel(`${method} has no body`, false);
  }
  try {
    const request = new Request(`${BASE_URL}${path}`, {
      method,
      headers: requestHeaders(head.headers),
      ...(body && { body }),
      signal: stream.ended,
    });
    const response = await tunnelRoutes[door](request);
    const headers = responseHeaders(response.headers);
    await trunk.answer(stream, { status: response.status, headers }, response.body);
  } catch (error) {
    stream.cancel("the daemon could not answer");
    if (!(error instanceof StreamError)) log.error("An answer broke off", { error });
  }
}
