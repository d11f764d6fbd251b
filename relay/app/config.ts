/** The configuration of the relay, from environment variables (specification 5, contract 9). */

import * as z from "zod";
import { hideCredentials } from "kit/core/text.ts";
import { toHeaders, tracesUrl } from "kit/telemetry/collector.ts";
import type { RelayTelemetryOptions } from "./telemetry.ts";
import { parseIpAddress } from "kit/net/ip_address.ts";
import { type Proxy, trustedProxiesOf } from "../web/client_address.ts";

const HOST = "the name or the address that it listens on, such as 127.0.0.1 or ::1";
const PORT = "a port (0 picks one), 0 to 65535";
const port = z.string().regex(/^\d+$/, PORT).transform(Number).pipe(z.number().max(65535, PORT));

const ISSUER = "an https origin without a path, such as https://relay.example.com, or http to " +
  "localhost, 127.0.0.1 or [::1]";
const FORWARDING_IP = "the address of the load balancer's forwarding rule";
const TRUSTED = "addresses and ranges of your own proxies, such as 127.0.0.1,172.30.83.0/24, " +
  "of at least /8 for IPv4 and /32 for IPv6";
const DB = "the path of a file, required with RELAY_OAUTH_ISSUER";
const COLLECTOR = "an http or https address without user, query and fragment";
const HEADERS = "name=value, further ones after commas";
const RATIO = "a number, 0 to 1";
/** A variable with an empty value counts as not set. */
const optionalText = z.string().transform((text) => text.trim() || undefined).optional();

/** A setting that `parse` reads if it is set; undefined from `parse` means that it is refused. */
function optional<T>(parse: (text: string) => T | undefined, allowed: string) {
  return optionalText.transform((text, context) => {
    const parsed = text === undefined ? undefined : parse(text);
    if (text !== undefined && parsed === undefined) context.addIssue(allowed);
    return parsed;
  });
}

const Settings = z.object({
  RELAY_HOST: z.string().min(1, HOST).default("127.0.0.1"),
  RELAY_PORT: port.default(8378),
  RELAY_OAUTH_ISSUER: optional(issuerOf, ISSUER),
  RELAY_OAUTH_DB: optionalText,
  RELAY_OAUTH_PROXY_MODE: z.enum(["direct", "cloudlb", "trusted"], "direct, cloudlb or trusted")
    .default("direct"),
  RELAY_OAUTH_LB_FORWARDING_IP: optional(parseIpAddress, FORWARDING_IP),
  RELAY_TRUSTED_PROXIES: optionalText.transform((text, context) => {
    const proxies = text === undefined ? undefined : trustedProxiesOf(text);
    if (typeof proxies !== "string") return proxies;
    context.addIssue(`${TRUSTED}; ${proxies}`);
    return undefined;
  }),
  RELAY_TELEMETRY_OTLP: optional(
    (text) => /^https?:\/\/[^?#@]+$/.test(text) && URL.canParse(text) ? text : undefined,
    COLLECTOR,
  ),
  RELAY_TELEMETRY_HEADERS: optionalText.pipe(z.string().regex(/^[\w-]+=./, HEADERS).optional()),
  RELAY_TELEMETRY_SAMPLE: optionalText.transform((text) => Number(text ?? 1))
    .pipe(z.number(RATIO).min(0, RATIO).max(1, RATIO)),
});
/** Variables whose values are not shown. */
const SECRET = /_HEADERS$/;

interface OAuthConfig {
  /** The origin in the OAuth metadata. It comes from the configuration, never from a request. */
  readonly issuer: string;
  readonly db_path: string;
}

interface RelayConfig {
  readonly host: string;
  readonly port: number;
  readonly proxy: Proxy;
  /** Undefined if remote MCP is switched off. */
  readonly oauth: OAuthConfig | undefined;
  /** Undefined without a collector of traces. */
  readonly telemetry: RelayTelemetryOptions | undefined;
}

/** Reads the configuration. Throws one error that names every mistake. */
export function readRelayConfig(env: Readonly<Record<string, string>>): RelayConfig {
  const read = Settings.safeParse(env);
  const found = (key: string) => {
    const value = env[key];
    if (SECRET.test(key)) return "a value";
    return value === undefined ? "nothing" : JSON.stringify(hideCredentials(value));
  };
  const mistakeText = (key: string, allowed: string) =>
    `${key}: found ${found(key)}; allowed: ${allowed}`;
  const mistakes = read.success
    ? []
    : read.error.issues.map(({ path, message }) => mistakeText(path.join("."), message));
  if (env["RELAY_OAUTH_PROXY_MODE"] === "cloudlb" && !env["RELAY_OAUTH_LB_FORWARDING_IP"]?.trim()) {
    mistakes.push(mistakeText("RELAY_OAUTH_LB_FORWARDING_IP", FORWARDING_IP));
  }
  if (env["RELAY_OAUTH_PROXY_MODE"] === "trusted" && !env["RELAY_TRUSTED_PROXIES"]?.trim()) {
    mistakes.push(mistakeText("RELAY_TRUSTED_PROXIES", TRUSTED));
  }
  if (env["RELAY_OAUTH_ISSUER"]?.trim() && !env["RELAY_OAUTH_DB"]?.trim()) {
    mistakes.push(mistakeText("RELAY_OAUTH_DB", DB));
  }
  if (!read.success || mistakes.length > 0) {
    throw new Error(`Cannot read the configuration:\n  ${mistakes.join("\n  ")}`);
  }
  const { RELAY_HOST, RELAY_PORT, RELAY_OAUTH_ISSUER: issuer, RELAY_OAUTH_DB: db_path } = read.data;
  return {
    host: RELAY_HOST,
    port: RELAY_PORT,
    proxy: proxyOf(read.data),
    oauth: issuer !== undefined && db_path !== undefined ? { issuer, db_path } : undefined,
    telemetry: telemetryOf(read.data),
  };
}

function telemetryOf(settings: z.output<typeof Settings>): RelayTelemetryOptions | undefined {
  const { RELAY_TELEMETRY_OTLP: otlp, RELAY_TELEMETRY_HEADERS: headers = "" } = settings;
  if (otlp === undefined) return undefined;
  const ratio = settings.RELAY_TELEMETRY_SAMPLE;
  return { url: tracesUrl(otlp), headers: toHeaders(headers), ratio };
}

/** The schema has already checked that the settings which a mode requires are set. */
function proxyOf(settings: z.output<typeof Settings>): Proxy {
  const { RELAY_OAUTH_PROXY_MODE: mode, RELAY_TRUSTED_PROXIES: proxies } = settings;
  const { RELAY_OAUTH_LB_FORWARDING_IP: forwarding } = settings;
  if (mode === "cloudlb" && forwarding !== undefined) return { mode, forwarding };
  if (mode === "trusted" && proxies !== undefined) return { mode, proxies };
  return { mode: "direct" };
}

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** The canonical origin. Undefined unless the text is a safe origin. */
function issuerOf(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, hostname, origin, href } = new URL(text);
  const isOrigin = href === `${origin}/` && !/[?#]/.test(text);
  const isSafe = protocol === "https:" || (protocol === "http:" && LOOPBACK.has(hostname));
  return isOrigin && isSafe ? origin : undefined;
}
