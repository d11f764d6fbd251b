/** The strategy `webhook`: the user's HTTP endpoint chooses. Failures are returned, not thrown. */

import * as z from "zod";
import type { Context } from "../../../data/context.ts";
import { messageOf, tryJson } from "kit/core/text.ts";
import { timeout } from "kit/core/timeout.ts";
import { readUpTo } from "kit/http/body.ts";
import type { Failure } from "protocol/asks/routing.ts";
import { type Candidate, type Choice, noChoice } from "./candidates.ts";

/** Maximum time of a request until the last byte of its response has arrived. */
const ENDPOINT_MS_MAX = 5000;
export const ANSWER_BYTES_MAX = 65_536;

const REASON_MAX = 1000;

/** The response: a peer by name or id (`peer`, `peer_id`, `to_peer`), or null for a refusal. */
export const EndpointAnswer = z.preprocess(
  namePeer,
  z.object({
    peer: z.string().min(1).max(255).nullable(),
    confidence: z.number().min(0).max(1).default(1),
    reason: z.string().max(REASON_MAX).nullish(),
  }),
);

function namePeer(response: unknown): unknown {
  if (typeof response !== "object" || response === null || "peer" in response) return response;
  const { peer_id, to_peer }: { peer_id?: unknown; to_peer?: unknown } = response;
  return { ...response, peer: peer_id === undefined ? to_peer : peer_id };
}

/** The body of the request to the endpoint. */
interface EndpointQuestion {
  readonly text: string;
  readonly from_peer: string;
  readonly from_peer_id: string | null;
  readonly circle: string | null;
  readonly candidates: readonly Omit<Candidate, "last_closed_at">[];
}

interface EndpointDeps extends Pick<Context, "clock" | "log"> {
  send(request: Request): Promise<Response>;
  readonly signal: AbortSignal;
}

/** Asks the endpoint until `signal` aborts, without redirects; time and size are limited. */
export async function askEndpoint(
  url: string,
  question: EndpointQuestion,
  { clock, log, send, signal }: EndpointDeps,
): Promise<Choice> {
  const fail = (failure: Failure, cause: unknown): Choice => {
    log.warn("The routing endpoint chose no peer", { failure, why: cause });
    return noChoice(failure);
  };
  const exchange = async (limit: AbortSignal) => {
    const request = new Request(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify(question),
      redirect: "manual",
      signal: limit,
    });
    const response = await send(request);
    const { ok, status } = response;
    return { ok, status, bodyBytes: await readUpTo(response.body, ANSWER_BYTES_MAX) };
  };
  try {
    const response = await timeout(clock, ENDPOINT_MS_MAX, exchange, signal);
    if (signal.aborted) return noChoice("error");
    if (!response) return fail("timed_out", `It did not respond within ${ENDPOINT_MS_MAX} ms`);
    const { ok, status, bodyBytes } = response;
    if (!ok) return fail("error", `It responded with status ${status}`);
    if (bodyBytes === undefined) {
      return fail("error", `Its response exceeds ${ANSWER_BYTES_MAX} bytes`);
    }
    const answer = EndpointAnswer.safeParse(tryJson(new TextDecoder().decode(bodyBytes)));
    if (!answer.success) return fail("error", answer.error.issues[0]?.message);
    const { peer, confidence, reason } = answer.data;
    return peer === null ? fail("refused", reason) : { peer, confidence };
  } catch (error) {
    return fail("error", messageOf(error));
  }
}
