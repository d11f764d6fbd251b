/** The address and the headers of a collector, from the settings of the daemon and the relay. */

export interface CollectorOptions {
  /** The address of the route that takes traces, such as `http://127.0.0.1:4318/v1/traces`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Completes the base address that other programs take, too. */
export function tracesUrl(otlp: string): string {
  if (otlp.endsWith("/v1/traces") || otlp.endsWith("/v1/traces/")) return otlp;
  return otlp.endsWith("/") ? `${otlp}v1/traces` : `${otlp}/v1/traces`;
}

/** Reads `name=value,other=value`. */
export function toHeaders(text: string): Record<string, string> {
  const pairs = text.split(",").map((pair): [string, string] => {
    const at = pair.indexOf("=");
    return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
  });
  return Object.fromEntries(pairs.filter(([name]) => name !== ""));
}
