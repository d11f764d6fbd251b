/** Requests out of the tunnel, answered by the daemon's own routes in this very process. */

import { afterSockets } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import type { RequestHead } from "kit/net/tunnel/frames.ts";
import { requestHeaders, responseHeaders } from "kit/net/tunnel/headers.ts";
import { type Body, Broken, type Stream } from "kit/net/tunnel/stream.ts";
import type { Trunk } from "kit/net/tunnel/multiplexed.ts";

/** The routes as they are reached through each of the relay's doors. */
export type Inside = Readonly<
  Record<RequestHead["door"], (request: Request) => Promise<Response>>
>;

/** No request gets out of this process: the name is nobody's. */
const BASE = "http://tunnel.invalid";

export interface AnswerNeeds {
  readonly inside: Inside;
  readonly log: Log;
}

/** A request that came through. */
export interface Asked {
  readonly head: RequestHead;
  readonly stream: Stream;
  readonly body: Body | null;
}

/** Requests that begin in one turn: whoever calls the daemon itself gets in between. */
const BEGUN_EACH_TURN = 4;

/** Lets what comes through begin in turns: a relay that asks for much at once stops nobody else. */
export class Turns {
  readonly #waiting: [stream: Stream, begin: () => void][] = [];
  #begun = 0;

  take(stream: Stream, begin: () => void): void {
    const is_free = this.#begun < BEGUN_EACH_TURN && this.#waiting.length === 0;
    if (is_free) this.#start(begin);
    else this.#waiting.push([stream, begin]);
  }

  #start(begin: () => void): void {
    if (this.#begun++ === 0) afterSockets(() => this.#turn());
    begin();
  }

  #turn(): void {
    this.#begun = 0;
    while (this.#begun < BEGUN_EACH_TURN) {
      const [stream, begin] = this.#waiting.shift() ?? [];
      if (!stream || !begin) return;
      if (!stream.ended.aborted) this.#start(begin); // Else nobody waits for it any more.
    }
  }
}

/** Answers one request, whatever comes of it; a slow one stands in nobody's way. */
export async function answerThrough(
  { inside, log }: AnswerNeeds,
  trunk: Pick<Trunk, "answer">,
  { head, stream, body }: Asked,
): Promise<void> {
  const { method, path, door } = head;
  if (body && (method === "GET" || method === "HEAD")) {
    return stream.cancel(`${method} has no body`, false);
  }
  try {
    const request = new Request(`${BASE}${path}`, {
      method,
      headers: requestHeaders(head.headers),
      ...(body && { body }),
      signal: stream.ended,
    });
    const response = await inside[door](request);
    const headers = responseHeaders(response.headers);
    await trunk.answer(stream, { status: response.status, headers }, response.body);
  } catch (fault) {
    stream.cancel("the daemon could not answer");
    if (!(fault instanceof Broken)) log.error("An answer broke off", { fault });
  }
}
