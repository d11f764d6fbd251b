/** A push service: it checks the sender as RFC 8292 demands, and its devices read their pushes. */

import { createPublicKey, verify } from "node:crypto";
import type { PushPayload } from "protocol/push/payload.ts";
import { decryptPush, type Device, newDevice } from "./device.ts";

const decode = (text: string) => Uint8Array.fromBase64(text, { alphabet: "base64url" });
const encode = (bytes: Uint8Array) =>
  new Uint8Array(bytes).toBase64({ alphabet: "base64url", omitPadding: true });

/** A push as its device reads it. */
export interface ReceivedPush extends PushPayload {
  readonly topic: string;
  readonly urgency: string;
  readonly ttl: number;
  /** Bytes of the encrypted body. */
  readonly bytes: number;
}

interface Registration {
  readonly device: Device;
  /** The only key whose owner may push (`applicationServerKey`). */
  readonly server_key: string;
}

interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
}

export class FakePushService {
  /** Origin of its endpoints. */
  origin = "https://push.example";
  now: () => number = () => 0;
  readonly received: ReceivedPush[] = [];
  /** Number of requests, also of those that it refused. */
  requests = 0;
  /** The answers to the next requests; afterwards each push is taken. */
  readonly answers: (Answer | "no answer")[] = [];
  readonly #registrations = new Map<string, Registration>();

  /** A subscription of a new device, as a browser makes it for the daemon with this key. */
  subscribe(server_key: string) {
    const device = newDevice();
    const endpoint = `${this.origin}/send/${encode(device.secret)}`;
    this.#registrations.set(endpoint, { device, server_key });
    return { endpoint, keys: device.keys };
  }

  unsubscribe(endpoint: string): void {
    this.#registrations.delete(endpoint);
  }

  /** As `Platform.sendPublicly`. */
  readonly send = async (request: Request): Promise<Response> => {
    this.requests++;
    const answer = this.answers.shift();
    if (answer === "no answer") return await new Promise(() => undefined);
    if (answer) return new Response(null, answer);
    const registration = this.#registrations.get(request.url);
    if (!registration) return new Response(null, { status: 410 });
    const { device, server_key } = registration;
    const refusal = this.#refusalOf(request, server_key);
    if (refusal !== undefined) return new Response(refusal, { status: 403 });
    const body = new Uint8Array(await request.arrayBuffer());
    const header = (name: string) => request.headers.get(name) ?? "";
    this.received.push({
      ...JSON.parse(decryptPush(device, body)),
      topic: header("topic"),
      urgency: header("urgency"),
      ttl: Number(header("ttl")),
      bytes: body.length,
    });
    return new Response(null, { status: 201, headers: { location: `${request.url}/message` } });
  };

  /** Serves its endpoints on this machine. */
  serve(): AsyncDisposable {
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
      (request) => this.send(request),
    );
    this.origin = `http://127.0.0.1:${server.addr.port}`;
    return { [Symbol.asyncDispose]: () => server.shutdown() };
  }

  /** The last push to any device. */
  get last(): ReceivedPush {
    const last = this.received.at(-1);
    if (!last) throw new Error("Nothing was pushed");
    return last;
  }

  #refusalOf({ headers, url }: Request, server_key: string): string | undefined {
    const [, token = "", k] =
      /^vapid t=([^,]+), k=(.+)$/.exec(headers.get("authorization") ?? "") ?? [];
    if (k !== server_key) return "another sender";
    if (!/^[\w-]{1,32}$/.test(headers.get("topic") ?? "")) return "no topic";
    if (headers.get("content-encoding") !== "aes128gcm") return "not encrypted";
    const [head = "", claims = "", signature = ""] = token.split(".");
    const point = decode(k);
    const [x, y] = [encode(point.slice(1, 33)), encode(point.slice(33))];
    const key = createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" });
    const signed = new TextEncoder().encode(`${head}.${claims}`);
    const options = { key, dsaEncoding: "ieee-p1363" } as const;
    if (!verify("sha256", signed, options, decode(signature))) return "a forged token";
    const { aud, exp, sub } = JSON.parse(new TextDecoder().decode(decode(claims)));
    const seconds = exp - this.now() / 1000;
    if (aud !== new URL(url).origin || !(seconds > 0 && seconds <= 86_400)) return "an old token";
    return /^(?:mailto|https):/.test(sub) ? undefined : "no contact";
  }
}
