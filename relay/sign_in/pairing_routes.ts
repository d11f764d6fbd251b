/** Routes for pairing a browser with one machine by a one-time code. */

import type * as z from "zod";
import { UNCACHED_HEADERS } from "kit/core/problem.ts";
import { tryJson } from "kit/core/text.ts";
import { readBody } from "kit/http/body.ts";
import { rawRoute, readBodyOf, type Route, toJsonResponse } from "kit/http/route.ts";
import { normalizeCode, redeemCode } from "protocol/api/devices.ts";
import { Problem } from "protocol/problems.ts";
import type { Machines } from "protocol/relay/daemons.ts";
import * as contracts from "protocol/relay/pairing.ts";
import { pairPage } from "../../dashboard/files/pair.ts";
import type { OriginPolicy } from "../web/origin_policy.ts";
import { type AddressRateLimit, enforceRateLimit } from "../web/rate_limiter.ts";
import type { Devices } from "./devices.ts";
import { ownerOf, type OwnerSessions } from "./sessions.ts";

const BODY_BYTES_MAX = 4096;
const ANSWER_MS_MAX = 10_000;
const ANSWER_BYTES_MAX = 4096;

export interface PairingDeps {
  readonly devices: Devices;
  readonly machines: Machines;
  readonly originPolicy: OriginPolicy;
  readonly sessions: OwnerSessions;
  readonly limits: { readonly login: AddressRateLimit; readonly register: AddressRateLimit };
}

export function pairingRoutes(deps: PairingDeps): Route[] {
  const { devices, limits, machines, originPolicy, sessions } = deps;
  return [
    rawRoute(contracts.announceCode, async (request, { remote }) => {
      const namespace = ownerOf(sessions, request);
      enforceRateLimit(limits.register, request, remote);
      const { daemon_id, digest } = await bodyOf(contracts.announceCode.body, request);
      devices.announce(namespace, daemon_id, digest);
      const url = `${originPolicy.originOf(request)}/pair`;
      return toJsonResponse(contracts.announceCode, { url });
    }),
    rawRoute(contracts.showPairing, () => pairPage()),
    rawRoute(contracts.pairBrowser, async (request, { remote }) => {
      originPolicy.mustBeFromOurPage(request);
      enforceRateLimit(limits.login, request, remote);
      const body = await bodyOf(contracts.pairBrowser.body, request);
      const found = devices.take(normalizeCode(body.code));
      if (!found) throw new Problem("code_refused", {});
      const { namespace, daemon_id } = found;
      const before = devices.get(request, daemon_id);
      // Somebody else may run a machine under the id of the one that this browser knows.
      if (before && before.namespace !== namespace) throw new Problem("paired_elsewhere", {});
      const token = await redeemAt(machines, { namespace, daemon_id }, body);
      const cookie = devices.open(request, { namespace, daemon_id, token });
      return Response.json({ page: `/m/${daemon_id}/dashboard` }, {
        headers: { ...UNCACHED_HEADERS, "set-cookie": cookie },
      });
    }),
  ];
}

/** The token that the machine gives for its code. The browser sees it in no answer. */
async function redeemAt(
  machines: Machines,
  { namespace, daemon_id }: { readonly namespace: string; readonly daemon_id: string },
  body: unknown,
): Promise<string> {
  const answer = await machines.request(namespace, daemon_id, {
    method: redeemCode.method,
    path: redeemCode.path,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    timeout_ms: ANSWER_MS_MAX,
    whole_bytes_max: ANSWER_BYTES_MAX,
  });
  const json = tryJson(await answer.text());
  if (answer.status === 403 || answer.status === 429) throw new Problem("code_refused", {});
  const redeemed = redeemCode.returns.safeParse(json);
  if (!answer.ok || !redeemed.success) throw new Problem("bad_daemon_answer", { daemon_id });
  return redeemed.data.token;
}

async function bodyOf<S extends z.ZodType>(schema: S, request: Request): Promise<z.output<S>> {
  return readBodyOf(schema, tryJson(await readBody(request, BODY_BYTES_MAX)) ?? {});
}
