/** `/oauth/connections`: lists the grants of the signed-in relay secret and revokes them. */

import type { Session } from "../../sign_in/sessions.ts";
import { seeOther } from "../../web/page.ts";
import { formOf, mustGet } from "../forms.ts";
import type { ConsentDeps } from "./consent.ts";
import { OAuthRefusal, withRefusals } from "../refusals.ts";
import { connectionsPage, refusalPage, signInPage } from "./pages.ts";

export type Connections = ReturnType<typeof openConnections>;

export function openConnections(
  { grants, sessions, log }: Pick<ConsentDeps, "grants" | "sessions" | "log">,
) {
  const withSession = (
    request: Request,
    work: (session: Session) => Response | Promise<Response>,
  ): Promise<Response> =>
    withRefusals(log, refusalPage, () => {
      const session = sessions.get(request);
      return session ? work(session) : signInPage(new OAuthRefusal("signed_out"));
    });
  return {
    list: (request: Request) =>
      withSession(
        request,
        ({ namespace, form_token }) => connectionsPage(grants.connections(namespace), form_token),
      ),
    /** Revokes a grant. The form must come from a page of the same session. */
    end: (request: Request) =>
      withSession(request, async ({ namespace }) => {
        const params = await formOf(request);
        sessions.refuseForged(request, mustGet(params, "form_token"));
        grants.disconnect(namespace, mustGet(params, "grant_id"));
        return seeOther("/oauth/connections");
      }),
  };
}
