/** The consent desk: what an app asks for, what the person says, and what the app is told of it. */

import type { Clock, Ids } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import type { Address } from "../../web/issuer.ts";
import { namespaceOf } from "../../web/secrets.ts";
import type { Clients } from "../clients/clients.ts";
import { isRegistered, redirectTo } from "../clients/redirects.ts";
import { formOf, mustGet, type Params, paramsOf } from "../forms.ts";
import type { Grants } from "../grants/grants.ts";
import { Refusal, refusalOf } from "../refusals.ts";
import { BrowserCookie, type Form, Seal } from "./form.ts";
import { consentPage, refusalPage } from "./pages.ts";
import { type Target, targetOf, wantedOf } from "./request.ts";

/** A form is as long as what it asks for, and has to come back within a body. */
const QUERY_CHARACTERS_MAX = 8192;

/** A browser that is signed in to the relay. */
export interface Session {
  /** Of the secret that it signed in with. */
  readonly namespace: string;
  /** Goes into our forms, and comes back from no other page. */
  readonly form_token: string;
}

export interface Sessions {
  of(request: Request): Session | undefined;
  /** Refuses a form that no page of ours has sent. */
  refuseForged(request: Request, form_token: string): void;
}

/** The daemons that are online. */
export interface Machines {
  list(namespace: string): readonly unknown[];
}

export interface ConsentNeeds {
  readonly issuer: string;
  readonly resource: string;
  readonly clients: Clients;
  readonly grants: Grants;
  readonly sessions: Sessions;
  readonly machines: Machines;
  readonly address: Address;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** How often a session may decide, or an address without one: the seconds to wait. */
  readonly pace: {
    take(request: Request, remote: Remote, form_token: string | undefined): number | undefined;
  };
}

type Remote = Deno.NetAddr | undefined;

export class Consent {
  readonly #needs: ConsentNeeds;
  readonly #seal: Seal;
  readonly #cookie: BrowserCookie;

  constructor(needs: ConsentNeeds) {
    this.#needs = needs;
    this.#seal = new Seal(needs.clock, needs.ids);
    this.#cookie = new BrowserCookie(needs.ids, needs.address);
  }

  /** `GET /oauth/authorize`: the form, or a refusal on a page, or one that goes to the app. */
  async ask(request: Request): Promise<Response> {
    const { clients, resource, sessions } = this.#needs;
    return await this.#onPage(async () => {
      const { search, searchParams } = new URL(request.url);
      if (search.length > QUERY_CHARACTERS_MAX) {
        throw new Refusal("too_large", String(QUERY_CHARACTERS_MAX));
      }
      const params = paramsOf(searchParams);
      const target = targetOf(params, (client_id) => clients.mustGet(client_id));
      return await this.#toApp(target, async () => {
        const { scope, code_challenge } = wantedOf(params, resource);
        const { client, redirect_uri, state } = target;
        const { browser, headers } = this.#cookie.keep(request);
        const asking = { client_id: client.client_id, redirect_uri, scope, code_challenge };
        const shown_to = sessions.of(request)?.namespace;
        const more = { ...(state && { state }), ...(shown_to !== undefined && { shown_to }) };
        const sealed = await this.#seal.close({ ...asking, ...more }, browser);
        const signed_in = shown_to !== undefined;
        return consentPage({ client, redirect_uri, scope, sealed, signed_in, headers });
      });
    });
  }

  /** `POST /oauth/authorize`: what the person decided, in the browser that was asked. */
  async decide(request: Request, remote: Remote): Promise<Response> {
    const { clients, grants, address, sessions, pace } = this.#needs;
    return await this.#onPage(async () => {
      address.refuseForeign(request);
      const wait = pace.take(request, remote, sessions.of(request)?.form_token);
      if (wait !== undefined) throw new Refusal("hasty", String(wait), wait);
      const params = await formOf(request);
      const sealed = mustGet(params, "request");
      const form = await this.#seal.open(sealed, this.#cookie.of(request));
      const client = clients.mustGet(form.client_id);
      const { redirect_uri, state } = form;
      if (!isRegistered(redirect_uri, client.redirect_uris)) throw new Refusal("unknown_redirect");
      const target: Target = { client, redirect_uri, state };
      const decision = params.get("decision");
      if (decision === "deny") {
        grants.deny(form.form_id, form.expires_at);
        return this.#refused(target, new Refusal("denied"));
      }
      if (decision !== "allow") throw new Refusal("wrong_decision");
      const namespace = this.#allowing(request, params, form);
      if (namespace instanceof Refusal) {
        return this.#again(request, { form, sealed, client, refusal: namespace });
      }
      return this.#allowed(form, namespace);
    });
  }

  /**
   * Whose machines the person may open: known by a secret that was typed, or by the session that
   * the form was shown to. No other session counts, as the person saw nothing of it.
   */
  #allowing(request: Request, params: Params, { shown_to }: Form): string | Refusal {
    const { sessions, machines, grants } = this.#needs;
    const secret = params.get("relay_secret")?.trim();
    const signed_in = shown_to === undefined ? undefined : sessions.of(request)?.namespace;
    if (!secret && signed_in !== undefined && signed_in !== shown_to) {
      throw new Refusal("other_session");
    }
    const namespace = secret ? namespaceOf(secret) : signed_in;
    if (namespace === undefined) return new Refusal("wrong_secret");
    // Any secret of the right form is a namespace; the first time, a daemon proves that it is one.
    const is_proved = machines.list(namespace).length > 0 || grants.isKnown(namespace);
    return is_proved ? namespace : new Refusal("no_machine");
  }

  #allowed(form: Form, namespace: string): Response {
    const { client_id, scope, redirect_uri, code_challenge, form_id, state } = form;
    const code = this.#needs.grants.approve({
      client_id,
      namespace,
      scope,
      redirect_uri,
      code_challenge,
      form_id,
      form_expires_at: form.expires_at,
    });
    return this.#redirect(redirect_uri, { code, state });
  }

  /** The same form once more, with the reason; it is still good for its ten minutes. */
  #again(
    request: Request,
    { form, sealed, client, refusal }: {
      form: Form;
      sealed: string;
      client: Target["client"];
      refusal: Refusal;
    },
  ): Response {
    const { redirect_uri, scope, shown_to } = form;
    const now = this.#needs.sessions.of(request)?.namespace;
    const signed_in = now !== undefined && now === shown_to;
    const { headers } = this.#cookie.keep(request);
    return consentPage({ client, redirect_uri, scope, sealed, signed_in, refusal, headers });
  }

  async #onPage(work: () => Promise<Response>): Promise<Response> {
    try {
      return await work();
    } catch (fault) {
      return refusalPage(refusalOf(fault, this.#needs.log));
    }
  }

  async #toApp(target: Target, work: () => Promise<Response>): Promise<Response> {
    try {
      return await work();
    } catch (fault) {
      return this.#refused(target, refusalOf(fault, this.#needs.log));
    }
  }

  #refused({ redirect_uri, state }: Target, { error, description }: Refusal): Response {
    return this.#redirect(redirect_uri, { error, error_description: description, state });
  }

  /** 303, which never carries a posted secret on (RFC 9700 4.12); `iss` says who answers. */
  #redirect(uri: string, params: Readonly<Record<string, string | undefined>>): Response {
    const location = redirectTo(uri, { ...params, iss: this.#needs.issuer });
    const headers = { location, "cache-control": "no-store", "referrer-policy": "no-referrer" };
    return new Response(null, { status: 303, headers });
  }
}
