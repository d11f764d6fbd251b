/** Where the relay is, and what opens a namespace there: the shapes of two settings. */

import * as z from "zod";
import { Secret } from "kit/core/settings.ts";
import { isLoopback } from "../host/paths.ts";

const ALLOWED = "https://…, or http://… on this machine alone; no path, no query, no name in it";

/** The origin of a relay. Without TLS the secret would be anybody's on the way. */
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

/** Spelt out, so that a name or a token that was pasted here by mistake is told at once. */
export const RelaySecretText = z.string().regex(/^mesh_sk_[A-Za-z0-9_-]{43}$/);

export const RelaySecret = RelaySecretText.transform((text) => new Secret(text))
  .describe("mesh_sk_ and 43 letters, digits, hyphens or underscores");
