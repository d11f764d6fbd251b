/** Explains TLS errors: one sentence on why a server's certificate was not accepted. */

/** The facts of a certificate that was not accepted. */
export interface CertificateFacts {
  /** As TLS libraries write it: `Oct  1 00:00:00 2026 GMT`. */
  readonly valid_from: string;
  readonly valid_to: string;
  /** True if the certificate was issued by itself. */
  readonly is_self_signed: boolean;
}

interface TlsContext {
  /** The time on this machine, in milliseconds since 1970. */
  readonly now: number;
  readonly certificate?: CertificateFacts | undefined;
  /** Unusable files of authorities, each as a sentence. */
  readonly faults?: readonly string[] | undefined;
}

const NAME_AUTHORITY = "name the authority's certificate, for example with SSL_CERT_FILE";
const UNKNOWN = /UNABLE_TO_|UnknownIssuer|unknown issuer|unable to (?:verify|get)|CERT_UNTRUSTED/i;
const SELF_SIGNED = /SELF_SIGNED|self.signed|CaUsedAsEndEntity/i;
const OTHER_NAME = /ALTNAME_INVALID|altnames|NotValidForName|not valid for name/i;
const EXPIRED = /CERT_HAS_EXPIRED|certificate (?:has )?expired|peer certificate: Expired/i;
const EARLY = /CERT_NOT_YET_VALID|not (?:yet valid|valid yet)|NotValidYet/i;
/** As rustls writes it: `not valid after 1790812800`. */
const NOT_BEFORE = /not valid before (\d+)/;
const NOT_AFTER = /not valid after (\d+)/;
const OTHER = /ERR_TLS_|ERR_SSL|CERT_|peer certificate|certificate/i;

/** The messages and codes of an error and all of its causes, joined. */
function textOfCauses(error: unknown): string {
  const parts: string[] = [];
  for (let cause = error; cause instanceof Error && parts.length < 8; cause = cause.cause) {
    const code = "code" in cause && typeof cause.code === "string" ? `${cause.code} ` : "";
    parts.push(`${code}${cause.message}`);
  }
  return parts.join(": ");
}

/** True if only the certificate shows the reason: Deno has one error for several reasons. */
export function needsCertificate(error: unknown): boolean {
  const text = textOfCauses(error);
  return (UNKNOWN.test(text) || SELF_SIGNED.test(text)) && !/peer certificate/.test(text);
}

/**
 * The reason why a certificate was not accepted, for a sentence that names its server; undefined
 * for an error that does not concern certificates.
 */
export function explainTlsError(error: unknown, context: TlsContext): string | undefined {
  const text = textOfCauses(error);
  const { certificate } = context;
  const from = certificate ? Date.parse(certificate.valid_from) : instantIn(text, NOT_BEFORE);
  const to = certificate ? Date.parse(certificate.valid_to) : instantIn(text, NOT_AFTER);
  if (EXPIRED.test(text) || to < context.now) {
    return `its certificate has expired${on("on", to)}${clock(context)}`;
  }
  if (EARLY.test(text) || from > context.now) {
    return `its certificate is not valid yet${on("before", from)}${clock(context)}; ` +
      "check the clocks";
  }
  if (OTHER_NAME.test(text)) return "its certificate is for another host name";
  if (SELF_SIGNED.test(text) || certificate?.is_self_signed) {
    return `its certificate is self-signed and not trusted; name it, for example with ` +
      `SSL_CERT_FILE${faults(context)}`;
  }
  if (UNKNOWN.test(text)) {
    return `its certificate is not trusted, because its authority is unknown; ${NAME_AUTHORITY}` +
      faults(context);
  }
  return OTHER.test(text) ? `its certificate was not accepted: ${lastOf(text)}` : undefined;
}

function instantIn(text: string, pattern: RegExp): number {
  const [, seconds] = pattern.exec(text) ?? [];
  return seconds === undefined ? NaN : Number(seconds) * 1000;
}

function on(preposition: string, at: number): string {
  return Number.isNaN(at) ? "" : ` ${preposition} ${toText(at)}`;
}

function clock({ now }: TlsContext): string {
  return ` (the clock of this machine says ${toText(now)})`;
}

function toText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

function faults({ faults = [] }: TlsContext): string {
  return faults.map((fault) => ` (${fault})`).join("");
}

function lastOf(text: string): string {
  return text.split(": ").at(-1) ?? text;
}
