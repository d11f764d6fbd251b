/** An HTTPS server on this machine, with a certificate from an authority of its own. */

import {
  type CertificateFault,
  makeAuthority,
  makeCertificate,
  makeFaultyCertificate,
} from "../nats/certificates.ts";

/** A host name of the certificate, which only a proxy resolves. */
export const RELAY = "relay.example";

type Handle = (request: Request) => Response | Promise<Response>;

export interface SecureServerOptions {
  readonly fault?: CertificateFault;
  readonly handle?: Handle;
}

export class SecureServer implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly ca: string;
  /** The certificate and its key, in PEM. */
  readonly tls: { readonly cert: string; readonly key: string };
  readonly #dir: string;

  private constructor(dir: string, name: string, handle: Handle) {
    this.#dir = dir;
    this.ca = `${dir}/authority.pem`;
    const read = (file: string) => Deno.readTextFileSync(`${dir}/${file}`);
    this.tls = { cert: read(`${name}.pem`), key: read(`${name}.key`) };
    const address = { hostname: "127.0.0.1", port: 0 };
    this.#server = Deno.serve({ ...address, ...this.tls, onListen: () => undefined }, handle);
  }

  static async start({ fault, handle = () => new Response("reached") }: SecureServerOptions = {}) {
    const dir = await Deno.makeTempDir({ prefix: "mesh-tls-" });
    await makeAuthority(dir);
    if (fault) await makeFaultyCertificate(dir, fault);
    else await makeCertificate(dir, "server", `IP:127.0.0.1,DNS:${RELAY}`);
    return new SecureServer(dir, fault ?? "server", handle);
  }

  get port(): number {
    return this.#server.addr.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
    await Deno.remove(this.#dir, { recursive: true });
  }
}
