/** The claims that an answer may make. Each has a closed form that the daemon can verify. */

import * as z from "zod";

export const CLAIMS_MAX = 16;
export const CLAIM_CHARS_MAX = 4_096;

/** A claim in parts. */
export type ParsedClaim =
  /** The commit is part of the folder's HEAD, and nothing is uncommitted. */
  | { readonly kind: "commit"; readonly commit: string }
  /** A file in the folder has this hash. */
  | { readonly kind: "file"; readonly path: string; readonly sha256: string }
  /** An address of this machine answers. */
  | { readonly kind: "http"; readonly url: URL }
  /** A branch merges into the base without a conflict. */
  | { readonly kind: "merges"; readonly branch: string };

/** Names of branches without the syntax of revisions. */
const BRANCH = /^(?![-/.])[A-Za-z0-9._/+@-]{1,200}(?<![/.])$/;
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|localhost|\[::1\])$/;

/** Undefined for a text that has none of the forms. */
export function parseClaim(text: string): ParsedClaim | undefined {
  const [, kind, rest = ""] = /^(commit|file|http|merges):(.+)$/.exec(text) ?? [];
  switch (kind) {
    case "commit":
      return /^[0-9a-f]{7,64}$/.test(rest) ? { kind, commit: rest } : undefined;
    case "file":
      return parseFile(rest);
    case "http":
      return parseAddress(text);
    case "merges": {
      const isName = BRANCH.test(rest) && !/\.\.|\/\/|\/\.|@\{|\.lock(?:\/|$)/.test(rest);
      return isName ? { kind, branch: rest } : undefined;
    }
    default:
      return undefined;
  }
}

function parseFile(rest: string): ParsedClaim | undefined {
  const [, path, sha256] = /^([^\0]+)=sha256:([0-9a-f]{64})$/.exec(rest) ?? [];
  if (path === undefined || sha256 === undefined) return undefined;
  const parts = path.split("/");
  const isInside = parts.every((part) => part !== "" && part !== "." && part !== "..");
  return isInside ? { kind: "file", path, sha256 } : undefined;
}

function parseAddress(text: string): ParsedClaim | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url && isLoopbackAddress(url) ? { kind: "http", url } : undefined;
}

/** True for `http:` addresses of this machine, without credentials. */
export function isLoopbackAddress({ protocol, hostname, username, password }: URL): boolean {
  return protocol === "http:" && LOOPBACK.test(hostname) && username === "" && password === "";
}

const FORMS =
  "Use commit:SHA, file:PATH=sha256:HEX, http://127.0.0.1:PORT/PATH, or merges:BRANCH; a path " +
  "lies inside of the folder";

export const Claim = z.string().max(CLAIM_CHARS_MAX).refine(
  (text) => parseClaim(text) !== undefined,
  `Not a claim that the daemon can verify. ${FORMS}`,
);

export const GivenClaims = z.array(Claim).max(CLAIMS_MAX).optional().describe(
  "Claims of the answer, which the daemon verifies in the recipient's folder before the asker " +
    "gets it: `commit:SHA` (it is part of HEAD, and nothing is uncommitted), " +
    "`file:PATH=sha256:HEX`, `http://127.0.0.1:PORT/PATH` (it answers), `merges:BRANCH`",
);
