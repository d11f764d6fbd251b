/** Contracts for creating relay secrets and for signing in with a secret. */

import * as z from "zod";
import { atRelay, contract } from "protocol/contract.ts";

/** An HTML page. It has no schema. */
const Page = z.unknown();
const html = {
  ...atRelay,
  responseType: "text/html",
  returns: Page,
} as const;
const form = { ...html, bodyType: "application/x-www-form-urlencoded" } as const;

export const registerKey = contract({
  id: "relay.keys.register",
  method: "POST",
  path: "/api/v1/register",
  summary: "Create a relay secret; the body is ignored",
  ...atRelay,
  returns: z.object({ secret: z.string() }),
  fails: ["foreign_page", "too_many_requests"],
});

export const showLanding = contract({
  id: "relay.keys.landing",
  method: "GET",
  path: "/",
  summary: "The start page with the sign-in form",
  ...html,
});

export const login = contract({
  id: "relay.keys.login",
  method: "POST",
  path: "/login",
  summary: "Sign in with a relay secret (field `secret`)",
  ...form,
  fails: ["foreign_page", "too_many_requests", "body_too_large", "body_too_slow", "bad_json"],
});

export const logout = contract({
  id: "relay.keys.logout",
  method: "POST",
  path: "/logout",
  summary: "Sign out",
  ...form,
  fails: ["foreign_page", "wrong_form_token", "body_too_large", "body_too_slow", "bad_json"],
});

export const showMachines = contract({
  id: "relay.keys.dashboard",
  method: "GET",
  path: "/dashboard",
  summary: "The machines of the signed-in secret, with links to their dashboards",
  ...html,
});
