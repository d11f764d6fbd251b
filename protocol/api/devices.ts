/** Routes of paired devices: browsers that got a session by a one-time code. */

import * as z from "zod";
import { Ok } from "kit/http/contract.ts";
import { byId, contract, nullableString } from "protocol/contract.ts";
import { Instant, shortText } from "kit/core/schema.ts";

/** The cookie of a paired browser on the daemon's own page; stored as a digest. */
export const DEVICE_COOKIE = "mesh_device";

/** Digits of a code, without I, L, O and U, which look like others (Crockford's base 32). */
export const CODE_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** 100 bits: a code cannot be guessed in its five minutes. */
export const CODE_LENGTH = 20;
const CODE_GROUP = /.{4}(?=.)/g;

/** A code as people read it: `7Q4K-…`. */
export function formatCode(code: string): string {
  return code.replace(CODE_GROUP, "$&-");
}

/** A code as it was typed: case, groups and digits that look alike do not matter. */
export function normalizeCode(text: string): string {
  return text.toUpperCase().replaceAll(/[^0-9A-Z]/g, "").replaceAll("O", "0")
    .replaceAll(/[IL]/g, "1");
}

export const PairedDevice = z.object({
  device_id: z.string(),
  name: z.string(),
  user_agent: nullableString,
  via: z.enum(["daemon", "relay"]).describe("Where it was paired"),
  created_at: Instant,
  /** Right to a minute. */
  used_at: Instant,
  expires_at: Instant,
  /** True for the device that sends the request. */
  is_this: z.boolean(),
}).meta({ id: "PairedDevice" });
export type PairedDevice = z.output<typeof PairedDevice>;

const PERSON = ["human_not_proven"] as const;

export const createCode = contract({
  id: "devices.code",
  method: "POST",
  path: "/pair/codes",
  summary: "Create a one-time code by which one browser gets a session; only for a person",
  access: "caller",
  tunnel: "open",
  returns: z.object({
    /** Valid once, for five minutes. */
    code: z.string(),
    expires_at: Instant,
    /** Addresses at which a phone enters the code; each ends with the code. Empty if none is. */
    addresses: z.array(z.object({
      url: z.string(),
      via: z.enum(["relay", "network"]),
    })),
    /** Why an address is missing. */
    notes: z.array(z.string()),
  }),
  fails: [...PERSON, "no_human"],
});

const given = {
  code: z.string().max(64),
  name: shortText(64, 1).optional().describe("By default, the browser and its system"),
  user_agent: shortText(512).optional(),
};

export const pairDevice = contract({
  id: "devices.pair",
  method: "POST",
  path: "/pair",
  summary: "Exchange a code for the cookie of a session that speaks as the human",
  access: "code",
  tunnel: "never",
  body: z.object(given),
  returns: z.object({ page: z.string() }),
  fails: ["code_refused", "too_many_codes_tried"],
});
export type PairDevice = z.output<typeof pairDevice.body>;

export const showPair = contract({
  id: "devices.page",
  method: "GET",
  path: "/pair",
  summary: "The page on which a phone enters the code",
  access: "code",
  tunnel: "never",
  returns: z.string(),
  responseType: "text/html",
});

export const redeemCode = contract({
  id: "devices.redeem",
  method: "POST",
  path: "/pair/redeem",
  summary: "The same for a relay, which keeps the token in a cookie of its own",
  access: "caller",
  tunnel: "open",
  body: z.object(given),
  returns: z.object({ device_id: z.string(), token: z.string(), expires_at: Instant }),
  fails: ["code_refused", "too_many_codes_tried", "not_from_elsewhere"],
});

export const listDevices = contract({
  id: "devices.list",
  method: "GET",
  path: "/devices",
  summary: "The paired devices; for a person",
  access: "caller",
  tunnel: "open",
  returns: z.object({ devices: z.array(PairedDevice) }),
  fails: PERSON,
});

export const removeDevice = contract({
  id: "devices.remove",
  method: "DELETE",
  path: "/devices/:id",
  summary: "End the session of a paired device, its open streams and its pushes, at once",
  access: "caller",
  tunnel: "open",
  params: byId,
  returns: Ok,
  fails: [...PERSON, "unknown_device"],
});

export const ownDevice = contract({
  id: "devices.own",
  method: "GET",
  path: "/pair/device",
  summary: "The paired device that sends the request",
  access: "caller",
  tunnel: "open",
  returns: z.object({ device_id: nullableString }),
});
