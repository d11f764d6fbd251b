/** Contracts of connected apps for the dashboard and for daemons. */

import * as z from "zod";
import { Ok } from "kit/http/contract.ts";
import { atRelay, byId, contract } from "protocol/contract.ts";
import { App } from "protocol/apps.ts";

const FAILS = ["no_relay_secret", "foreign_page", "wrong_form_token", "oauth_disabled"] as const;

export const listApps = contract({
  id: "relay.apps.list",
  method: "GET",
  path: "/api/v1/apps",
  summary: "List the apps that hold a grant of this secret (bearer secret, or signed in)",
  ...atRelay,
  returns: z.object({ apps: z.array(App) }),
  fails: FAILS,
});

export const revokeApp = contract({
  id: "relay.apps.revoke",
  method: "DELETE",
  path: "/api/v1/apps/:id",
  summary: "Revoke the grant of an app",
  ...atRelay,
  params: byId,
  returns: Ok,
  fails: [...FAILS, "unknown_app"],
});
