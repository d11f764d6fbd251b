/**
 * Serves the dashboard of a machine from the relay's own files: no markup of a daemon runs on the
 * relay's origin (contract 9).
 */

import { Problem } from "protocol/problems.ts";
import { rawRoute, type Route, toJsonResponse } from "kit/http/route.ts";
import { assetResponse, manifestResponse, workerResponse } from "../../dashboard/files/files.ts";
import { dashboardPage } from "../../dashboard/files/page.ts";
import { DaemonId, type Machines } from "protocol/relay/daemons.ts";
import type { Sessions } from "./sessions.ts";
import type { OriginPolicy } from "../web/origin_policy.ts";
import { seeOther } from "../web/page.ts";
import * as contracts from "protocol/relay/dashboard.ts";

interface MachinePageDeps {
  readonly machines: Pick<Machines, "list">;
  readonly sessions: Pick<Sessions, "get">;
  readonly originPolicy: Pick<OriginPolicy, "mustBeFromOurPage">;
}

/**
 * The page is the same for every machine and holds no data, so it is served for a machine that is
 * not connected, too. Its files need no session, as the manifest is fetched without a cookie.
 */
export function machinePageRoutes(deps: MachinePageDeps): Route[] {
  const { machines, sessions, originPolicy } = deps;
  return [
    rawRoute(contracts.showMachine, (request, _, { daemon_id }) => {
      mustBeDaemonId(request, daemon_id);
      return sessions.get(request) ? dashboardPage() : seeOther("/");
    }),
    rawRoute(contracts.getMachineAsset, (request) => assetResponse(request)),
    rawRoute(contracts.getMachineManifest, () => manifestResponse()),
    rawRoute(contracts.getMachineWorker, (request, _, { daemon_id }) => {
      mustBeDaemonId(request, daemon_id);
      return workerResponse(request);
    }),
    rawRoute(contracts.getMachinePage, (request) => {
      originPolicy.mustBeFromOurPage(request);
      const session = sessions.get(request);
      if (!session) throw new Problem("not_signed_in", {});
      const { form_token, namespace } = session;
      const page = { form_token, machines: machines.list(namespace) };
      return toJsonResponse(contracts.getMachinePage, page);
    }),
  ];
}

/** An address that no machine can have gets no page, and above all no service worker. */
function mustBeDaemonId({ method, url }: Request, daemon_id: string | undefined): void {
  if (DaemonId.safeParse(daemon_id).success) return;
  throw new Problem("not_found", { method, path: new URL(url).pathname });
}
