/** The routes of the authorization server, and of its connected apps as data. */

import * as contracts from "protocol/relay/oauth.ts";
import { listApps, revokeApp } from "protocol/relay/apps.ts";
import { rawRoute, type Route, route, toJsonResponse } from "kit/http/route.ts";
import type { AddressRateLimit } from "../web/rate_limiter.ts";
import type { Connections } from "./consent/connections.ts";
import type { Consent, ConsentDeps } from "./consent/consent.ts";
import { refuseOtherResource } from "./consent/authorization_request.ts";
import { bodyOf, formOf, mustGet, type Params } from "./forms.ts";
import { fromDatabase, type Grants } from "./grants.ts";
import { NO_STORE_HEADERS, OAuthRefusal, toErrorResponse, withRefusals } from "./refusals.ts";
import { resourceMetadata, serverMetadata } from "./metadata.ts";
import { OK } from "kit/http/contract.ts";
import { Problem } from "protocol/problems.ts";
import { ownerOf, type OwnerSessions } from "../sign_in/sessions.ts";
import type { Connection } from "./grant_store.ts";

interface OAuthServices
  extends Pick<ConsentDeps, "issuer" | "resource" | "clients" | "grants" | "log"> {
  readonly consent: Consent;
  readonly connections: Connections;
  readonly registrations: AddressRateLimit;
}

export function oauthRoutes(services: OAuthServices): Route[] {
  const { issuer, clients, grants, consent, connections, log } = services;
  const respond = (work: () => Promise<Response>) => withRefusals(log, toErrorResponse, work);
  return [
    route(contracts.getResourceMetadata, () => resourceMetadata(issuer)),
    route(contracts.getMcpMetadata, () => resourceMetadata(issuer)),
    route(contracts.getMcpSlashMetadata, () => resourceMetadata(issuer)),
    route(contracts.getServerMetadata, () => serverMetadata(issuer)),
    rawRoute(contracts.registerClient, (request, { remote }) =>
      respond(async () => {
        const wait = services.registrations.take(request, remote);
        if (wait !== undefined) throw new OAuthRefusal("crowded", String(wait), wait);
        return toJson(clients.register(await bodyOf(request)), 201);
      })),
    rawRoute(contracts.getConsent, (request) => consent.ask(request)),
    rawRoute(contracts.submitConsent, (request, { remote }) => consent.decide(request, remote)),
    rawRoute(contracts.exchangeToken, (request) =>
      respond(async () => {
        return toJson(issue(services, await clientFormOf(request)));
      })),
    rawRoute(contracts.revokeToken, (request) =>
      respond(async () => {
        const params = await clientFormOf(request);
        grants.revoke(mustGet(params, "token"), params.get("client_id"));
        return toJson({});
      })),
    rawRoute(contracts.listConnections, (request) => connections.list(request)),
    rawRoute(contracts.endConnection, (request) => connections.end(request)),
  ];
}

const GRANT_TYPES: ReadonlyMap<string, typeof redeem> = new Map([
  ["authorization_code", redeem],
  ["refresh_token", refresh],
]);

function issue(services: OAuthServices, params: Params): contracts.Credentials {
  const { clients, grants, resource } = services;
  const exchange = GRANT_TYPES.get(mustGet(params, "grant_type"));
  if (!exchange) throw new OAuthRefusal("wrong_grant_type");
  const client = clients.mustGet(mustGet(params, "client_id"));
  // Many apps name the resource only in the authorization request, which decides (contract 11).
  refuseOtherResource(params.get("resource") ?? resource, resource);
  return exchange(grants, client, params);
}

function redeem(grants: Grants, client: contracts.Client, params: Params): contracts.Credentials {
  return grants.exchange(client, {
    code: mustGet(params, "code"),
    code_verifier: mustGet(params, "code_verifier"),
    redirect_uri: params.get("redirect_uri"),
  });
}

function refresh(grants: Grants, client: contracts.Client, params: Params): contracts.Credentials {
  return grants.refresh(client, mustGet(params, "refresh_token"), params.get("scope"));
}

/** The form of a public client. A client with a secret is refused: secrets are not supported. */
async function clientFormOf(request: Request): Promise<Params> {
  const params = await formOf(request);
  const hasSecret = params.get("client_secret") ?? params.get("client_assertion") ??
    request.headers.get("authorization");
  if (hasSecret) throw new OAuthRefusal("confidential_client");
  return params;
}

function toJson(body: unknown, status = 200): Response {
  return Response.json(body, { status, headers: NO_STORE_HEADERS });
}

interface AppsDeps {
  readonly grants: Pick<Grants, "connections" | "disconnect">;
  readonly sessions: OwnerSessions;
}

export function appRoutes({ grants, sessions }: AppsDeps): Route[] {
  return [
    rawRoute(listApps, (request) => {
      const namespace = ownerOf(sessions, request);
      const apps = fromDatabase(() => grants.connections(namespace)).map(toApp);
      return toJsonResponse(listApps, { apps });
    }),
    rawRoute(revokeApp, (request, _, { id = "" }) => {
      const namespace = ownerOf(sessions, request);
      if (!fromDatabase(() => grants.disconnect(namespace, id))) {
        throw new Problem("unknown_app", {});
      }
      return toJsonResponse(revokeApp, OK);
    }),
  ];
}

/** A connection without the relay's internal fields, such as its namespace. */
function toApp(connection: Connection) {
  const { grant_id, client_id, client_name, scope, granted_at, exchanged_at, expires_at } =
    connection;
  const renewed_at = exchanged_at ?? granted_at;
  return { grant_id, client_id, client_name, scope, granted_at, renewed_at, expires_at };
}
