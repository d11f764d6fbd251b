/** Invitations: the data that one machine needs to join, as one word that a person can paste. */

import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { unlessError } from "kit/host/file_errors.ts";
import { BusUrl, MachineName } from "../../../daemon/app/membership/settings.ts";
import { UsageError } from "../../client/failures.ts";

const INVITATION_PREFIX = "mesh_join_";
const URL_SAFE = { alphabet: "base64url", omitPadding: true } as const;
const LENGTH_MAX = 16_384;

const Invitation = z.object({
  version: z.literal(1),
  url: BusUrl,
  /** The certificate of the server's authority, in PEM. */
  ca: z.string().regex(/^-----BEGIN CERTIFICATE-----\n/).optional(),
  /** The network secret. */
  secret: z.string(),
  /** The name of the invited machine. */
  name: MachineName,
});
type Invitation = z.output<typeof Invitation>;

export function isInvitation(text: string): boolean {
  return text.startsWith(INVITATION_PREFIX);
}

export function writeInvitation(invitation: Invitation): string {
  const bytes = new TextEncoder().encode(JSON.stringify(invitation));
  return INVITATION_PREFIX + bytes.toBase64(URL_SAFE);
}

/** Throws a `UsageError` that does not quote the text, because it holds a secret. */
export function readInvitation(text: string): Invitation {
  const code = text.slice(INVITATION_PREFIX.length);
  const parsed = Invitation.safeParse(tryJson(decode(code)));
  if (parsed.success) return parsed.data;
  throw new UsageError(
    "The invitation is incomplete or damaged; copy the whole line that `mesh machines invite` " +
      "printed",
  );
}

function decode(code: string): string {
  if (code.length > LENGTH_MAX || !/^[\w-]+$/.test(code)) return "";
  const isInvalid = (error: unknown) => error instanceof SyntaxError;
  return new TextDecoder().decode(
    unlessError(isInvalid, () => Uint8Array.fromBase64(code, URL_SAFE)),
  );
}
