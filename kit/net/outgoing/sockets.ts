/** Sockets to external servers: through the proxy of the environment, with its authorities. */

import { connect as connectTcp, type Socket } from "node:net";
import { checkServerIdentity, connect as connectTls, getCACertificates } from "node:tls";
import type { Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { type Env, readAuthorities } from "./authorities.ts";
import { type Proxy, proxyFor } from "./proxies.ts";
import { type CertificateFacts, explainTlsError, needsCertificate } from "./tls_errors.ts";
import { UnreachableError } from "./http_client.ts";

/** Time limit for each step: the connection, the proxy's answer, the TLS handshake. */
const STEP_MS_MAX = 10_000;
/** Maximum size of the head of a proxy's answer. */
const HEAD_BYTES_MAX = 16_384;

export interface Target {
  readonly host: string;
  readonly port: number;
}

export interface OutgoingDeps {
  readonly env: Env;
  readonly clock: Clock;
  readonly step_ms_max?: number;
}

/** Opens sockets. Destroys each socket that fails; every step has a deadline. */
export class OutgoingSockets {
  readonly #deps: OutgoingDeps;

  constructor(deps: OutgoingDeps) {
    this.#deps = deps;
  }

  isProxied(target: Target, { tls }: { readonly tls: boolean }): boolean {
    return proxyFor(this.#deps.env, { ...target, tls }) !== undefined;
  }

  /** Opens a TCP connection. `tls` selects the proxy: that for HTTPS, or that for HTTP. */
  async open(target: Target, { tls }: { readonly tls: boolean }): Promise<Socket> {
    const proxy = proxyFor(this.#deps.env, { ...target, tls });
    return proxy ? await this.#openThrough(proxy, target) : await this.#connect(target);
  }

  /** Opens a TLS connection to a server, and verifies its certificate for the host name. */
  async openSecure(target: Target): Promise<Socket> {
    const ca = this.trusted();
    try {
      return await this.#secure(await this.open(target, { tls: true }), target.host, { ca });
    } catch (error) {
      const why = await this.explain(error, () => this.open(target, { tls: true }), target.host);
      if (why === undefined) throw error;
      throw new UnreachableError(why, { cause: error });
    }
  }

  /** All authorities in PEM if the environment adds any; undefined without additions. */
  trusted(): string[] | undefined {
    const { pems } = readAuthorities(this.#deps.env);
    return pems.length === 0 ? undefined : [...getCACertificates("default"), ...pems];
  }

  /**
   * The reason why a certificate was not accepted. If the error does not name it, reads the
   * certificate over another connection, on which nothing is sent.
   */
  async explain(
    error: unknown,
    open: () => Promise<Socket>,
    host: string,
  ): Promise<string | undefined> {
    const now = this.#deps.clock.now();
    const { faults } = readAuthorities(this.#deps.env);
    const certificate = needsCertificate(error) ? await this.#read(open, host) : undefined;
    return explainTlsError(error, { now, certificate, faults });
  }

  async #read(open: () => Promise<Socket>, host: string): Promise<CertificateFacts | undefined> {
    try {
      const socket = await this.#secure(await open(), host, { rejectUnauthorized: false });
      const { subject, issuer, valid_from, valid_to } = socket.getPeerCertificate();
      socket.destroy();
      const is_self_signed = JSON.stringify(subject) === JSON.stringify(issuer);
      return { valid_from, valid_to, is_self_signed };
    } catch {
      return undefined; // Only the explanation is lost; the error itself is reported.
    }
  }

  #connect({ host, port }: Target): Promise<Socket> {
    const socket = connectTcp(port, host);
    return this.#step(socket, "connect", `${toText({ host, port })} does not answer`);
  }

  async #secure(
    socket: Socket,
    host: string,
    options: { readonly ca?: string[] | undefined; readonly rejectUnauthorized?: boolean },
  ) {
    const { ca, rejectUnauthorized = true } = options;
    const name = /^[\d.]+$|:/.test(host) ? {} : { servername: host };
    const secured = connectTls({
      socket,
      rejectUnauthorized,
      ...name,
      ...(ca && { ca }),
      checkServerIdentity: (_, certificate) => checkServerIdentity(host, certificate),
    });
    try {
      return await this.#step(secured, "secureConnect", `${host} does not complete TLS`);
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  async #openThrough(proxy: Proxy, target: Target): Promise<Socket> {
    const { url, authorization, variable } = proxy;
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const isSecure = url.protocol === "https:";
    const via = `the proxy at ${url.host} (${variable})`;
    const plain = await this.#connect({ host, port: Number(url.port || (isSecure ? 443 : 80)) })
      .catch((error) => {
        throw new UnreachableError(`${via} cannot be reached: ${error.message}`, { cause: error });
      });
    const socket = isSecure ? await this.#secure(plain, host, { ca: this.trusted() }) : plain;
    const to = toText(target);
    const auth = authorization === undefined ? "" : `Proxy-Authorization: ${authorization}\r\n`;
    socket.write(`CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\n${auth}\r\n`);
    const head = await this.#readHead(socket, `${via} does not answer`);
    const [, status = ""] = /^HTTP\/1\.[01] (\d{3})/.exec(head) ?? [];
    if (/^2/.test(status)) return socket;
    socket.destroy();
    const what = status ? `refused ${to} (${status})` : "is no HTTP proxy";
    const fix = status === "407"
      ? "give its user name and password in the variable"
      : "if the server needs no proxy, name it in NO_PROXY";
    throw new UnreachableError(`${via} ${what}; ${fix}`);
  }

  /** Reads to the end of the head, and puts the rest back: the server may speak first. */
  async #readHead(socket: Socket, silent: string): Promise<string> {
    let read = new Uint8Array();
    while (read.length < HEAD_BYTES_MAX) {
      const chunk: Uint8Array | null = socket.read();
      if (chunk === null) {
        await this.#step(socket, "readable", silent);
        if (socket.readableEnded || socket.readableLength === 0) break;
        continue;
      }
      read = new Uint8Array([...read, ...chunk]);
      const text = new TextDecoder("latin1").decode(read);
      const end = text.indexOf("\r\n\r\n");
      if (end < 0) continue;
      const rest = read.subarray(end + 4);
      if (rest.length > 0) socket.unshift(rest);
      return text.slice(0, end);
    }
    return "";
  }

  /** Waits for an event of the socket. Rejects on its error, its end, or after a timeout. */
  async #step<S extends Socket>(socket: S, event: string, silent: string): Promise<S> {
    const { clock, step_ms_max = STEP_MS_MAX } = this.#deps;
    const { promise, resolve, reject } = Promise.withResolvers<S>();
    const done = () => resolve(socket);
    const closed = () => reject(new UnreachableError("the connection was closed"));
    socket.once(event, done).once("error", reject).once("close", closed);
    try {
      const result = await timeout(clock, step_ms_max, promise);
      if (result) return result;
      throw new UnreachableError(`${silent} within ${step_ms_max / 1000} s`);
    } catch (error) {
      // An unhandled error may follow the end, and would end the process.
      socket.on("error", () => undefined).destroy();
      throw error;
    } finally {
      socket.off(event, done).off("error", reject).off("close", closed);
    }
  }
}

function toText({ host, port }: Target): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
