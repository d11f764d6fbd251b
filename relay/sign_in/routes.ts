/**
 * Routes for creating relay secrets, signing in and out, and listing machines, and the dashboard of
 * a machine. It comes from the relay's own files: no markup of a daemon runs on the relay's origin
 * (contract 9).
 */

import * as contracts from "protocol/relay/sign_in.ts";
import {
  getMachineAsset,
  getMachineManifest,
  getMachinePage,
  getMachineWorker,
  showMachine,
} from "protocol/relay/dashboard.ts";
import type { Ids } from "kit/core/clock.ts";
import { isProblem, Problem } from "protocol/problems.ts";
import { readBody } from "kit/http/body.ts";
import { rawRoute, type Route, toJsonResponse } from "kit/http/route.ts";
import { type AddressRateLimit, enforceRateLimit } from "../web/rate_limiter.ts";
import type { OriginPolicy } from "../web/origin_policy.ts";
import { ownDevice } from "protocol/api/devices.ts";
import {
  DaemonId,
  findMachine,
  isUnreachable,
  type Machines,
  type PairedBrowser,
} from "protocol/relay/daemons.ts";
import type { Devices } from "./devices.ts";
import { seeOther } from "../web/page.ts";
import { accountOf, namespaceOf, newSecret } from "../web/secrets.ts";
import {
  badSecretPage,
  landingPage,
  machinesPage,
  otherSessionPage,
  tooManyRequestsPage,
} from "./pages.ts";
import type { Sessions } from "./sessions.ts";
import {
  assetResponse,
  dashboardPage,
  manifestResponse,
  type PageMachine,
  workerResponse,
} from "../../dashboard/files/responses.ts";

/** A secret has 51 characters, so a larger form does not come from the sign-in page. */
const FORM_BYTES_MAX = 4096;
const PAIRED_MS_MAX = 10_000;

export interface KeyDeps {
  readonly ids: Ids;
  readonly originPolicy: OriginPolicy;
  readonly sessions: Sessions;
  readonly machines: Pick<Machines, "list">;
  /** True if remote MCP is configured. If so, the page links to the list of connected apps. */
  readonly has_apps: boolean;
  /** Separate limits for creating secrets and for signing in. */
  readonly limits: { readonly register: AddressRateLimit; readonly login: AddressRateLimit };
}

export function keyRoutes(deps: KeyDeps): Route[] {
  const { ids, originPolicy, sessions, machines, limits, has_apps } = deps;
  return [
    rawRoute(contracts.registerKey, async (request, { remote }) => {
      originPolicy.refuseForeign(request);
      // The body is discarded, so that it cannot influence the secret.
      await request.body?.cancel();
      enforceRateLimit(limits.register, request, remote);
      return toJsonResponse(contracts.registerKey, { secret: newSecret(ids) });
    }),
    rawRoute(contracts.showLanding, (request) => landingPage(sessions.get(request))),
    rawRoute(contracts.login, async (request, { remote }) => {
      originPolicy.refuseForeign(request);
      const seconds = limits.login.take(request, remote);
      if (seconds !== undefined) return tooManyRequestsPage(seconds);
      const secret = (await readForm(request)).get("secret")?.trim() ?? "";
      const namespace = namespaceOf(secret);
      if (namespace === undefined) return badSecretPage(describeSecret(secret));
      return seeOther("/dashboard", { "set-cookie": sessions.open(namespace, request) });
    }),
    rawRoute(contracts.logout, async (request) => {
      originPolicy.refuseForeign(request);
      const formToken = (await readForm(request)).get("form_token");
      try {
        if (formToken !== null) sessions.refuseForged(request, formToken);
      } catch (error) {
        if (isProblem(error, "wrong_form_token")) return otherSessionPage();
        throw error;
      }
      return seeOther("/", { "set-cookie": sessions.close(request) });
    }),
    rawRoute(contracts.showMachines, (request) => {
      const session = sessions.get(request);
      if (!session) return seeOther("/");
      return machinesPage(session, machines.list(session.namespace), { has_apps });
    }),
  ];
}

async function readForm(request: Request): Promise<URLSearchParams> {
  return new URLSearchParams(await readBody(request, FORM_BYTES_MAX));
}

/** Describes a mistyped secret without revealing it. */
function describeSecret(secret: string): string {
  if (secret === "") return "nothing";
  const prefix = secret.startsWith("mesh_sk_") ? "mesh_sk_ and " : "";
  const rest = prefix ? secret.length - "mesh_sk_".length : secret.length;
  return `${prefix}${rest} other ${rest === 1 ? "letter" : "letters"}`;
}

interface MachinePageDeps {
  readonly machines: Machines;
  readonly sessions: Pick<Sessions, "get">;
  readonly devices: Devices;
  readonly originPolicy: Pick<OriginPolicy, "mustBeFromOurPage">;
}

/**
 * The page holds no data but the name of its machine, so it is served for a machine that is not
 * connected, too. Its files need no session; without one, the manifest has the machine's id instead
 * of its name.
 */
export function machinePageRoutes(deps: MachinePageDeps): Route[] {
  const { machines, sessions, devices, originPolicy } = deps;
  const knownBrowser = (request: Request, daemon_id: string) =>
    sessions.get(request) ?? devices.get(request, daemon_id);
  const shownMachine = (request: Request, daemon_id: string): PageMachine => {
    const namespace = knownBrowser(request, daemon_id)?.namespace;
    const found = namespace && findMachine(machines, namespace, daemon_id);
    return { daemon_id, name: found ? found.machine : undefined };
  };
  return [
    rawRoute(showMachine, (request, _, { daemon_id = "" }) => {
      mustBeDaemonId(request, daemon_id);
      return knownBrowser(request, daemon_id)
        ? dashboardPage(request, shownMachine(request, daemon_id))
        : seeOther("/");
    }),
    rawRoute(getMachineAsset, (request) => assetResponse(request)),
    rawRoute(getMachineManifest, (request, _, { daemon_id = "" }) => {
      mustBeDaemonId(request, daemon_id);
      return manifestResponse(request, shownMachine(request, daemon_id));
    }),
    rawRoute(getMachineWorker, (request, _, { daemon_id }) => {
      mustBeDaemonId(request, daemon_id);
      return workerResponse(request);
    }),
    rawRoute(getMachinePage, async (request, _, { daemon_id = "" }) => {
      originPolicy.mustBeFromOurPage(request);
      const session = sessions.get(request);
      const device = devices.get(request, daemon_id);
      const isSignedInHere = session && findMachine(machines, session.namespace, daemon_id);
      if (device && !isSignedInHere) return await pageOfDevice(deps, device, daemon_id);
      if (!session) throw new Problem("not_signed_in", {});
      const { form_token, namespace } = session;
      const account = accountOf(namespace);
      const page = { account, form_token, machines: machines.list(namespace) };
      return toJsonResponse(getMachinePage, page);
    }),
  ];
}

/**
 * The session of a paired browser: it sees its own machine only. If the machine no longer knows the
 * token, nobody is signed in.
 */
async function pageOfDevice(
  { machines }: MachinePageDeps,
  { namespace, form_token, token }: PairedBrowser,
  daemon_id: string,
): Promise<Response> {
  const own = findMachine(machines, namespace, daemon_id);
  const isPaired = !own || own.capabilities["paired_devices"] === true &&
      await knowsToken(machines, { namespace, daemon_id, token });
  if (!isPaired) throw new Problem("not_signed_in", {});
  return toJsonResponse(getMachinePage, {
    account: accountOf(namespace),
    form_token,
    machines: own ? [own] : [],
  });
}

/** False if the machine answers that it does not know the token. */
async function knowsToken(
  machines: Machines,
  { namespace, daemon_id, token }: { namespace: string; daemon_id: string; token: string },
): Promise<boolean> {
  const { method, path } = ownDevice;
  try {
    const answer = await machines.request(namespace, daemon_id, {
      method,
      path,
      device: token,
      timeout_ms: PAIRED_MS_MAX,
      whole_bytes_max: FORM_BYTES_MAX,
    });
    await answer.body?.cancel();
    return answer.status !== 401;
  } catch (error) {
    if (isUnreachable(error)) return true; // The page shows that its machine is not reached.
    throw error;
  }
}

/** Refuses the address of a page or service worker whose machine id is malformed. */
function mustBeDaemonId({ method, url }: Request, daemon_id: string | undefined): void {
  if (DaemonId.safeParse(daemon_id).success) return;
  throw new Problem("not_found", { method, path: new URL(url).pathname });
}
