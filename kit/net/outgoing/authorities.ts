/** Certificates of authorities that the environment names, in addition to those of Deno. */

/** Environment variables. */
export type Env = Readonly<Record<string, string | undefined>>;

/** Deno itself reads the last two, but a compiled program may read none. */
export const AUTHORITY_VARIABLES = ["SSL_CERT_FILE", "DENO_CERT", "NODE_EXTRA_CA_CERTS"] as const;

export interface Authorities {
  /** The texts of the files. Each has one certificate or several, in PEM. */
  readonly pems: readonly string[];
  /** Unusable files, each as a sentence with its variable and the reason. */
  readonly faults: readonly string[];
}

const CERTIFICATE = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----/;

/**
 * Reads the files. An unreadable file is reported as a fault and not thrown: some shells name a
 * file that does not exist, and most servers need no extra authority.
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
