/** The local route that calls another machine: the rest of its path is the path there. */

import { readRequestBody, refuseOnAbort } from "kit/http/body.ts";
import { Problem } from "protocol/problems.ts";
import { type Caller, rawRoute, type Route } from "kit/http/route.ts";
import { CALL_BYTES_MAX, tooLarge } from "./bounds.ts";
import type { CallClient } from "./call_client.ts";
import * as contracts from "protocol/calls.ts";

interface CallRouteDeps {
  /** Undefined while this machine is on no bus. */
  readonly calls: Pick<CallClient, "call" | "mustFind"> | undefined;
  readonly isProvenHuman: (caller: Caller, headers: Headers) => boolean;
}

const PREFIX = /^\/machines\/[^/]*\/call(?=\/)/;

export function callRoutes({ calls, isProvenHuman }: CallRouteDeps): Route[] {
  const { callDelete, callGet, callPatch, callPost } = contracts;
  return [callGet, callPost, callPatch, callDelete].map((contract) =>
    rawRoute(contract, async (request, caller, { id = "" }) => {
      if (!calls) throw new Problem("unknown_machine_name", { machine: id });
      const to = calls.mustFind(id);
      const { headers } = request;
      // Proved before anything is awaited, while the calling process still exists.
      const human = isProvenHuman(caller, headers);
      const body = await refuseOnAbort(() => readRequestBody(request, CALL_BYTES_MAX));
      if (!body) throw tooLarge("request");
      const method = request.method === "HEAD" ? "HEAD" : contract.method;
      return await calls.call(to, { method, path: pathWithin(request.url), headers, body, human });
    })
  );
}

/** The path at the other machine, with its query, percent-encoded as it came. */
function pathWithin(url: string): `/${string}` {
  const { pathname, search } = new URL(url);
  const path = pathname.replace(PREFIX, "").replace(/^\/*/, "");
  return `/${path}${search}`;
}
