/** Passes a person's request on to another machine, and reads its answer. */

import { cleanLine, tryJson } from "kit/core/text.ts";
import { isProblem, type Problem } from "protocol/problems.ts";
import type { CallClient } from "./call_client.ts";

/** Maximum characters of another machine's reason. */
const REASON_CHARS_MAX = 300;

type Call = Parameters<CallClient["call"]>;

/** Returns the body of the answer. Without one, throws what `refuse` makes of the reason. */
export async function callForPerson(
  calls: Pick<CallClient, "call">,
  to: Call[0],
  request: Omit<Call[1], "human">,
  refuse: (reason: string) => Problem,
): Promise<unknown> {
  try {
    const response = await calls.call(to, { ...request, human: true });
    const answer = tryJson(await response.text());
    if (response.ok) return answer;
    throw refuse(detailOf(answer) ?? `its status is ${response.status}`);
  } catch (error) {
    if (!isProblem(error, "machine_unreachable")) throw error;
    throw refuse(error.fields.reason);
  }
}

/** The sentence of a refusal of another machine. */
function detailOf(answer: unknown): string | undefined {
  if (typeof answer !== "object" || answer === null || !("detail" in answer)) return undefined;
  return cleanLine(String(answer.detail).slice(0, REASON_CHARS_MAX));
}
