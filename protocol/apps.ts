/** The routes of connected apps: programs that a person allowed to use agents through the relay. */

import * as z from "zod";
import { Ok } from "kit/http/contract.ts";
import { byId, contract } from "protocol/contract.ts";
import { Instant } from "kit/core/schema.ts";

/** The access of one app to the machines of a relay secret. */
export const App = z.object({
  grant_id: z.string(),
  client_id: z.string(),
  /** The app's own name for itself, which is not checked. */
  client_name: z.string().nullable(),
  /** OAuth scopes: `agents:read`, and `agents:write` if the app may ask and send. */
  scope: z.string(),
  granted_at: Instant,
  /** When the app last exchanged its credentials. */
  renewed_at: Instant,
  expires_at: Instant,
}).meta({ id: "App" });
export type App = z.output<typeof App>;

/** Errors of every route, because each calls the relay. */
const FAILS = ["relay_disabled", "relay_unreachable", "relay_refused", "oauth_disabled"] as const;

export const listApps = contract({
  id: "apps.list",
  method: "GET",
  path: "/apps",
  summary: "The apps that may reach the machines of this relay secret, and what each may do",
  access: "caller",
  tunnel: "never",
  returns: z.object({ apps: z.array(App) }),
  fails: [...FAILS],
});

export const revokeApp = contract({
  id: "apps.revoke",
  method: "DELETE",
  path: "/apps/:id",
  summary: "End the access of an app",
  access: "caller",
  tunnel: "never",
  params: byId,
  returns: Ok,
  fails: [...FAILS, "unknown_app"],
});
