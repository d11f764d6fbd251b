/** Certificates of authorities that the environment names, beside those that Deno brings. */

type Env = Readonly<Record<string, string | undefined>>;

/** Deno itself reads the last two, and a compiled program perhaps none. */
export const AUTHORITY_VARIABLES = ["SSL_CERT_FILE", "DENO_CERT", "NODE_EXTRA_CA_CERTS"] as const;

export interface Authorities {
  /** The files' texts, each with one certificate or several, in PEM. */
  readonly pems: readonly string[];
  /** Variables whose file cannot be used, each with the reason in a sentence. */
  readonly faults: readonly string[];
}

const CERTIFICATE = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----/;

/**
 * Reads the files. One that cannot be read is a fault and no error: some shells name a file that
 * does not exist, and most servers need no further authority.
 */
export function readAuthorities(env: Env): Authorities {
  const pems = new Map<string, string>();
  const faults: string[] = [];
  for (const variable of AUTHORITY_VARIABLES) {
    const path = env[variable];
    if (!path || pems.has(path)) continue;
    try {
      const text = Deno.readTextFileSync(path);
      if (CERTIFICATE.test(text)) pems.set(path, text);
      else faults.push(`${variable} names ${path}, which holds no certificate in PEM`);
    } catch (error) {
      const why = error instanceof Deno.errors.NotFound ? "does not exist" : "cannot be read";
      faults.push(`${variable} names ${path}, which ${why}`);
    }
  }
  return { pems: [...pems.values()], faults };
}
