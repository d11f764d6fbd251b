/** Secrets and signing in: each contract met by its page or its verb. */

import type { Ids } from "kit/core/clock.ts";
import { isProblem, Problem } from "kit/core/problem.ts";
import { rawRoute, readBody, type Route } from "kit/http/route.ts";
import type { Address } from "../web/issuer.ts";
import type { Machines } from "../daemons/contract.ts";
import { seeOther } from "../web/page.ts";
import { freshSecret, namespaceOf } from "../web/secrets.ts";
import * as contracts from "./contract.ts";
import { landingPage, machinesPage, otherSessionPage, refusedPage, tooOftenPage } from "./pages.ts";
import type { Sessions } from "./sessions.ts";

/** A secret has 51 letters; more than this is no form of ours. */
const FORM_BYTES_MAX = 4096;

/** How often one address may come: `net` counts. */
export interface Pace {
  /** Counts this request; the seconds to wait where it is one too many. */
  take(request: Request, remote: Deno.NetAddr | undefined): number | undefined;
}

export interface KeyNeeds {
  readonly ids: Ids;
  readonly address: Address;
  readonly sessions: Sessions;
  readonly machines: Pick<Machines, "list">;
  /** Whether apps can connect at all: their page is OAuth's. */
  readonly has_apps: boolean;
  /** Of drawing secrets, and of signing in: one does not use up the other. */
  readonly paces: { readonly register: Pace; readonly login: Pace };
}

export function keyRoutes(needs: KeyNeeds): Route[] {
  const { ids, address, sessions, machines, paces, has_apps } = needs;
  return [
    rawRoute(contracts.registerKey, async (request, { remote }) => {
      address.refuseForeign(request);
      await request.body?.cancel(); // Nothing that a caller says picks a secret.
      const retry_after_seconds = paces.register.take(request, remote);
      if (retry_after_seconds !== undefined) {
        throw new Problem("too_many_requests", { retry_after_seconds });
      }
      return Response.json({ secret: freshSecret(ids) }, {
        headers: { "cache-control": "no-store", "x-content-type-options": "nosniff" },
      });
    }),
    rawRoute(contracts.showLanding, (request) => landingPage(sessions.of(request))),
    rawRoute(contracts.login, async (request, { remote }) => {
      address.refuseForeign(request);
      const seconds = paces.login.take(request, remote);
      if (seconds !== undefined) return tooOftenPage(seconds);
      const secret = (await readForm(request)).get("secret")?.trim() ?? "";
      const namespace = namespaceOf(secret);
      if (namespace === undefined) return refusedPage(whatIs(secret));
      return seeOther("/dashboard", { "set-cookie": sessions.open(namespace, request) });
    }),
    rawRoute(contracts.logout, async (request) => {
      address.refuseForeign(request);
      const given = (await readForm(request)).get("form_token");
      try {
        if (given !== null) sessions.refuseForged(request, given);
      } catch (fault) {
        if (isProblem(fault, "wrong_form_token")) return otherSessionPage();
        throw fault;
      }
      return seeOther("/", { "set-cookie": sessions.close(request) });
    }),
    rawRoute(contracts.showMachines, (request) => {
      const session = sessions.of(request);
      if (!session) return seeOther("/");
      return machinesPage(session, machines.list(session.namespace), { has_apps });
    }),
  ];
}

export async function readForm(request: Request): Promise<URLSearchParams> {
  return new URLSearchParams(await readBody(request, FORM_BYTES_MAX));
}

/** What was typed, told without telling it. */
function whatIs(secret: string): string {
  if (secret === "") return "nothing";
  const begins = secret.startsWith("mesh_sk_") ? "mesh_sk_ and " : "";
  const rest = begins ? secret.length - "mesh_sk_".length : secret.length;
  return `${begins}${rest} other ${rest === 1 ? "letter" : "letters"}`;
}
