/** Passes a person's requests about reviews on to the machine that has them. */

import { cleanLine } from "kit/core/text.ts";
import { Problem } from "protocol/problems.ts";
import type { RequestElsewhere, ReviewsElsewhere } from "../../features/reviews/elsewhere.ts";
import type { CallClient } from "./call_client.ts";
import { callForPerson } from "./person_calls.ts";

export class RemoteReviews implements ReviewsElsewhere {
  readonly #calls: Pick<CallClient, "call" | "mustFind"> | undefined;

  /** Undefined while this machine is on no bus. */
  constructor(calls: Pick<CallClient, "call" | "mustFind"> | undefined) {
    this.#calls = calls;
  }

  async request(
    machine: string,
    { method, path, query, body, headers: given }: RequestElsewhere,
  ): Promise<unknown> {
    const refuse = (reason: string) =>
      new Problem("reviews_elsewhere", { machine: cleanLine(machine), reason });
    if (!this.#calls) throw new Problem("unknown_machine_name", { machine });
    const headers = new Headers();
    const key = given?.get("idempotency-key") ?? null;
    if (key !== null) headers.set("idempotency-key", key);
    if (body !== undefined) headers.set("content-type", "application/json");
    const search = query ? `?${new URLSearchParams(query)}` : "";
    return await callForPerson(this.#calls, this.#calls.mustFind(machine), {
      method,
      path: `${path}${search}`,
      headers,
      ...(body !== undefined && { body: new TextEncoder().encode(JSON.stringify(body)) }),
    }, refuse);
  }
}
