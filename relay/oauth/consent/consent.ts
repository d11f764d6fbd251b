/** Consent: holds the request of an app, and sends the decision of the person to the app. */

import type { Clock, Ids } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import type { Machines } from "protocol/relay/daemons.ts";
import type { Sessions } from "../../sign_in/sessions.ts";
import type { OriginPolicy } from "../../web/origin_policy.ts";
import { namespaceOf } from "../../web/secrets.ts";
import type { Clients } from "../clients.ts";
import { isLoopback, isRegistered, redirectTo } from "../redirects.ts";
import { formOf, mustGet, type Params, paramsOf } from "../forms.ts";
import type { Grants } from "../grants.ts";
import { OAuthRefusal, withRefusals } from "../refusals.ts";
import { allowedScope } from "../scopes.ts";
import { BrowserCookie, type Form, FormSealer } from "./form.ts";
import { type ConsentPage, consentPage, refusalPage } from "./pages.ts";
import {
  type RedirectTarget,
  redirectTargetOf,
  requestedAccessOf,
} from "./authorization_request.ts";

/** The form contains the whole query and must fit into a request body, so the query is limited. */
const QUERY_CHARACTERS_MAX = 8192;

export interface ConsentDeps {
  readonly issuer: string;
  readonly resource: string;
  readonly clients: Clients;
  readonly grants: Grants;
  readonly sessions: Pick<Sessions, "get" | "refuseForged">;
  readonly machines: Pick<Machines, "list">;
  readonly originPolicy: OriginPolicy;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Limits decisions by session, or by address without a session. Returns the seconds to wait. */
  readonly limit: {
    take(request: Request, remote: Remote, form_token: string | undefined): number | undefined;
  };
}

type Remote = Deno.NetAddr | undefined;

export class Consent {
  readonly #deps: ConsentDeps;
  readonly #formSealer: FormSealer;
  readonly #cookie: BrowserCookie;

  constructor(deps: ConsentDeps) {
    this.#deps = deps;
    this.#formSealer = new FormSealer(deps.clock, deps.ids);
    this.#cookie = new BrowserCookie(deps.ids, deps.originPolicy);
  }

  /** `GET /oauth/authorize`: shows the form, or a refusal, or sends the refusal to the app. */
  async ask(request: Request): Promise<Response> {
    const { clients, log, resource, sessions } = this.#deps;
    return await withRefusals(log, refusalPage, async () => {
      const { search, searchParams } = new URL(request.url);
      if (search.length > QUERY_CHARACTERS_MAX) {
        throw new OAuthRefusal("too_large", String(QUERY_CHARACTERS_MAX));
      }
      const params = paramsOf(searchParams);
      const target = redirectTargetOf(params, (client_id) => clients.mustGet(client_id));
      const refuseToApp = (refusal: OAuthRefusal) => this.#refuseToApp(target, refusal);
      return await withRefusals(log, refuseToApp, async () => {
        const { scope, code_challenge } = requestedAccessOf(params, resource);
        const { client, redirect_uri, state } = target;
        const { browser, headers } = this.#cookie.keep(request);
        const shown_to = sessions.get(request)?.namespace;
        const { client_id } = client;
        const asked = { client_id, redirect_uri, scope, code_challenge, state, shown_to };
        const sealed = await this.#formSealer.close(asked, browser);
        const signed_in = shown_to !== undefined;
        const shown = { client, redirect_uri, scope, chosen: scope, sealed, signed_in };
        return consentPage({ ...shown, headers });
      });
    });
  }

  /** `POST /oauth/authorize`: the decision. The browser must be the one that was shown the form. */
  async decide(request: Request, remote: Remote): Promise<Response> {
    const { clients, grants, log, originPolicy, sessions, limit } = this.#deps;
    return await withRefusals(log, refusalPage, async () => {
      originPolicy.refuseForeign(request);
      const wait = limit.take(request, remote, sessions.get(request)?.form_token);
      if (wait !== undefined) throw new OAuthRefusal("hasty", String(wait), wait);
      const params = await formOf(request);
      const sealed = mustGet(params, "request");
      const form = await this.#formSealer.open(sealed, this.#cookie.get(request));
      const client = clients.mustGet(form.client_id);
      const { redirect_uri, state } = form;
      if (!isRegistered(redirect_uri, client.redirect_uris)) {
        throw new OAuthRefusal("unknown_redirect");
      }
      const target: RedirectTarget = { client, redirect_uri, state };
      const decision = params.get("decision");
      if (decision === "deny") {
        grants.deny(form.form_id, form.expires_at);
        return this.#refuseToApp(target, new OAuthRefusal("denied"));
      }
      if (decision !== "allow") throw new OAuthRefusal("wrong_decision");
      const scope = allowedScope(form.scope, params.get("access"));
      if (!scope) throw new OAuthRefusal("wrong_access");
      const namespace = this.#namespaceToAllow(request, params, form);
      if (namespace instanceof OAuthRefusal) {
        const shown = { client, redirect_uri, scope: form.scope, chosen: scope, sealed };
        return this.#showFormAgain(request, form, { ...shown, refusal: namespace });
      }
      const code = grants.approve({ ...form, scope, namespace });
      return this.#redirect(this.#answerTo(target, { code }));
    });
  }

  /**
   * The namespace whose machines the person may open to the app. It belongs to the secret that the
   * person entered. Without a secret, it belongs to the session that the form was shown to. If the
   * browser is now in a different session, the request is refused, because the form did not show
   * that session.
   */
  #namespaceToAllow(request: Request, params: Params, { shown_to }: Form): string | OAuthRefusal {
    const { sessions, machines, grants } = this.#deps;
    const secret = params.get("relay_secret")?.trim();
    const signed_in = shown_to === undefined ? undefined : sessions.get(request)?.namespace;
    if (!secret && signed_in !== undefined && signed_in !== shown_to) {
      throw new OAuthRefusal("other_session");
    }
    const namespace = secret ? namespaceOf(secret) : signed_in;
    if (namespace === undefined) return new OAuthRefusal("wrong_secret");
    // Any well-formed secret gives a namespace. So a daemon must have connected to this namespace
    // now or before, which proves that the secret is in use.
    const isProven = machines.list(namespace).length > 0 || grants.hasExchangedGrant(namespace);
    return isProven ? namespace : new OAuthRefusal("no_machine");
  }

  /** Shows the same form again, with the reason for the refusal. Its expiry stays the same. */
  #showFormAgain(
    request: Request,
    { shown_to }: Form,
    shown: Omit<ConsentPage, "signed_in" | "headers">,
  ): Response {
    const now = this.#deps.sessions.get(request)?.namespace;
    const signed_in = now !== undefined && now === shown_to;
    return consentPage({ ...shown, signed_in, headers: this.#cookie.keep(request).headers });
  }

  /**
   * Redirects a refusal to a program on this computer and to a client that a person has allowed.
   * Strangers can register any other address, so a page names the refusal and links to the address
   * (RFC 9700 4.11.2).
   */
  #refuseToApp(target: RedirectTarget, refusal: OAuthRefusal): Response {
    const { error, description: error_description } = refusal;
    const answer = this.#answerTo(target, { error, error_description });
    const isTrusted = isLoopback(target.redirect_uri) || this.#deps.grants.isAllowed(target.client);
    return isTrusted ? this.#redirect(answer) : refusalPage(refusal, answer);
  }

  /** The redirect URI with the answer. `iss` names the issuer (RFC 9207). */
  #answerTo({ redirect_uri, state }: RedirectTarget, answer: Readonly<Record<string, string>>) {
    return redirectTo(redirect_uri, { ...answer, state, iss: this.#deps.issuer });
  }

  /** Redirects to the app by 303: no browser then sends the secret on (RFC 9700 4.12). */
  #redirect(location: string): Response {
    const headers = { location, "cache-control": "no-store", "referrer-policy": "no-referrer" };
    return new Response(null, { status: 303, headers });
  }
}
