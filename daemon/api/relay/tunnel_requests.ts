/** Answers requests from the tunnel by calling the daemon's own routes in this process. */

import { afterSocketReads } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import type { RequestHead } from "kit/net/tunnel/frames.ts";
import { requestHeaders, responseHeaders } from "kit/net/tunnel/headers.ts";
import { type Body, type Stream, StreamError } from "kit/net/tunnel/stream.ts";
import type { MultiplexedConnection } from "kit/net/tunnel/multiplexed.ts";

/** For each origin of a tunnelled request, the function that calls the routes open to it. */
type TunnelRoutes = Readonly<
  Record<RequestHead["door"] | "device", (request: Request) => Promise<Response>>
>;

/** The token of a paired device. Requests cannot bring this header along: no tunnel passes it. */
export const DEVICE_HEADER = "x-mesh-device";

/** The host name of tunnelled requests. They never leave this process, so no host has this name. */
const BASE_URL = "http://tunnel.invalid";

interface AnswerDeps {
  readonly tunnelRoutes: TunnelRoutes;
  readonly log: Log;
}

export interface TunnelRequest {
  readonly head: RequestHead;
  readonly stream: Stream;
  readonly body: Body | null;
}

/**
 * Maximum number of requests that start in one turn of the event loop. Requests of direct callers
 * are handled between these turns.
 */
const STARTED_PER_TURN = 4;

/** Starts tunnel requests a few at a time, so that a busy relay does not block other callers. */
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
      if (!stream.ended.aborted) this.#start(run); // Skips requests that were cancelled meanwhile.
    }
  }
}

/** Answers one request and reports any error to the caller of the tunnel. */
export async function answerTunnelRequest(
  { tunnelRoutes, log }: AnswerDeps,
  connection: Pick<MultiplexedConnection, "answer">,
  { head, stream, body }: TunnelRequest,
): Promise<void> {
  const { method, path, door, device } = head;
  if (body && (method === "GET" || method === "HEAD")) {
    return stream.cancel(`${method} has no body`, false);
  }
  try {
    const request = new Request(`${BASE_URL}${path}`, {
      method,
      headers: [
        ...requestHeaders(head.headers),
        ...device === undefined ? [] : [[DEVICE_HEADER, device] satisfies [string, string]],
      ],
      ...(body && { body }),
      signal: stream.ended,
    });
    const response = await tunnelRoutes[device === undefined ? door : "device"](request);
    const headers = responseHeaders(response.headers);
    await connection.answer(stream, { status: response.status, headers }, response.body);
  } catch (error) {
    stream.cancel("the daemon failed to answer");
    if (!(error instanceof StreamError)) log.error("A tunnelled request failed", { error });
  }
}
