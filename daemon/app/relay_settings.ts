/** The schemas of the relay's address and secret. */

import * as z from "zod";
import { Secret } from "kit/core/settings.ts";
import { isLoopback } from "../host/paths.ts";

const ALLOWED =
  "https://…, or http://… with a loopback address; without a path, a query or a user name";

/** The origin of a relay. Another machine needs TLS, as the secret is sent to it. */
export const RelayUrl = z.string().transform((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isOrigin = url && !url.username && !url.password && !url.search && !url.hash &&
    url.pathname === "/" && !text.includes("?") && !text.includes("#");
  const isSecure = url && /^(https|wss):$/.test(url.protocol);
  const isLocal = url && /^(http|ws):$/.test(url.protocol) && isLoopback(url.hostname);
  if (url && isOrigin && (isSecure || isLocal)) {
    return `${url.protocol.replace("ws", "http")}//${url.host}`;
  }
  context.addIssue({ code: "custom", message: ALLOWED });
  return z.NEVER;
}).describe(ALLOWED);

/** The exact form, so that a name or another token is refused at once. */
export const RelaySecretText = z.string().regex(/^mesh_sk_[A-Za-z0-9_-]{43}$/);

export const RelaySecret = RelaySecretText.transform((text) => new Secret(text))
  .describe("mesh_sk_ and 43 letters, digits, hyphens or underscores");
