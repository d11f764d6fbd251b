/** `/oauth/connections`: lists the grants of the signed-in relay secret and revokes them. */

import type { Log } from "kit/core/log.ts";
import type { Session, Sessions } from "../../sign_in/sessions.ts";
import { seeOther } from "../../web/page.ts";
import { formOf, mustGet } from "../forms.ts";
import type { Grants } from "../grants/grants.ts";
import { OAuthRefusal, toOAuthRefusal } from "../refusals.ts";
import { connectionsPage, refusalPage, signInPage } from "./pages.ts";

export interface ConnectionsDeps {
  readonly grants: Grants;
  readonly sessions: Pick<Sessions, "get" | "refuseForged">;
  readonly log: Log;
}

export class Connections {
  readonly #deps: ConnectionsDeps;

  constructor(deps: ConnectionsDeps) {
    this.#deps = deps;
  }

  async list(request: Request): Promise<Response> {
    return await this.#withRefusalPage(
      request,
      ({ namespace, form_token }) =>
        connectionsPage(this.#deps.grants.connections(namespace), form_token),
    );
  }

  /** Revokes a grant. The form must come from a page of the same session. */
  async end(request: Request): Promise<Response> {
    const { grants, sessions } = this.#deps;
    return await this.#withRefusalPage(request, async ({ namespace }) => {
      const params = await formOf(request);
      sessions.refuseForged(request, mustGet(params, "form_token"));
      grants.disconnect(namespace, mustGet(params, "grant_id"));
      return seeOther("/oauth/connections");
    });
  }

  async #withRefusalPage(
    request: Request,
    work: (session: Session) => Response | Promise<Response>,
  ): Promise<Response> {
    const { sessions, log } = this.#deps;
    try {
      const session = sessions.get(request);
      return session ? await work(session) : signInPage(new OAuthRefusal("signed_out"));
    } catch (error) {
      return refusalPage(toOAuthRefusal(error, log));
    }
  }
}
