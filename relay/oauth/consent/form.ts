/** The consent form: encrypted, bound to one browser, valid for ten minutes, and not stored. */

import { EncryptJWT, jwtDecrypt } from "jose";
import { createHash } from "node:crypto";
import * as z from "zod";
import type { Clock, Ids } from "kit/core/clock.ts";
import { MINUTE_MS } from "kit/core/duration.ts";
import { cookieOf, type OriginPolicy } from "../../web/origin_policy.ts";
import { digestOf } from "../../web/secrets.ts";
import { Scope } from "protocol/relay/oauth.ts";
import { OAuthRefusal } from "../refusals.ts";

const FORM_MS = 10 * MINUTE_MS;

const Form = z.object({
  form_id: z.string(),
  /** The digest of the cookie of the browser that was shown the form. */
  browser: z.string(),
  /** The namespace of the browser's session when the form was shown. Absent without a session. */
  shown_to: z.string().optional(),
  expires_at: z.number(),
  /** The same instant by this process's boottime, in case the clock is set back. */
  expires_at_boottime: z.number(),
  client_id: z.string(),
  redirect_uri: z.string(),
  state: z.string().optional(),
  scope: Scope,
  code_challenge: z.string(),
});
export type Form = z.output<typeof Form>;
/** The fields of a form that come from the request. `close` adds the other fields. */
type FormRequest = Omit<Form, "form_id" | "browser" | "expires_at" | "expires_at_boottime">;

const HEADER = { alg: "dir", enc: "A256GCM" } as const;

/** Encrypts forms with a key that only this process has, so a restart makes open forms invalid. */
export class FormSealer {
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #key: Uint8Array;

  constructor(clock: Clock, ids: Ids) {
    this.#clock = clock;
    this.#ids = ids;
    this.#key = createHash("sha256").update(ids.secret(32)).digest();
  }

  close(formRequest: FormRequest, browser: string): Promise<string> {
    const form: Form = {
      ...formRequest,
      form_id: this.#ids.secret(16),
      browser: digestOf(browser),
      expires_at: this.#clock.now() + FORM_MS,
      expires_at_boottime: this.#clock.boottime() + FORM_MS,
    };
    return new EncryptJWT({ form }).setProtectedHeader(HEADER).encrypt(this.#key);
  }

  /** Decrypts a form. Throws if the form was shown to another browser or has expired. */
  async open(sealed: string, browser: string | undefined): Promise<Form> {
    const form = await this.#decrypt(sealed);
    const isSameBrowser = browser !== undefined && form.browser === digestOf(browser);
    const isOver = form.expires_at <= this.#clock.now() ||
      form.expires_at_boottime <= this.#clock.boottime();
    if (!isSameBrowser || isOver) throw new OAuthRefusal("lost_form");
    return form;
  }

  async #decrypt(sealed: string): Promise<Form> {
    try {
      const { payload } = await jwtDecrypt(sealed, this.#key, {
        contentEncryptionAlgorithms: [HEADER.enc],
        keyManagementAlgorithms: [HEADER.alg],
      });
      return Form.parse(payload["form"]);
    } catch {
      // The form was not encrypted by this process.
      throw new OAuthRefusal("lost_form");
    }
  }
}

const COOKIE = /^[A-Za-z0-9_-]{43}$/;

/** The cookie that identifies a browser but not a person. */
export class BrowserCookie {
  readonly #ids: Ids;
  readonly #originPolicy: OriginPolicy;

  constructor(ids: Ids, originPolicy: OriginPolicy) {
    this.#ids = ids;
    this.#originPolicy = originPolicy;
  }

  get(request: Request): string | undefined {
    const value = cookieOf(request, this.#nameFor(request));
    return value !== undefined && COOKIE.test(value) ? value : undefined;
  }

  /** The browser's id, from its cookie or new, and the header that sets the cookie. */
  keep(request: Request): { browser: string; headers: Record<string, string> } {
    const browser = this.get(request) ?? this.#ids.secret(32);
    const secure = this.#originPolicy.isSecure(request) ? "; Secure" : "";
    const cookie = `${this.#nameFor(request)}=${browser}; Path=/; Max-Age=${FORM_MS / 1000}; ` +
      `HttpOnly; SameSite=Lax${secure}`;
    return { browser, headers: { "set-cookie": cookie } };
  }

  /** The prefix `__Host-` prevents other hosts and plain http from setting the cookie. */
  #nameFor(request: Request): string {
    return this.#originPolicy.isSecure(request) ? "__Host-mesh-consent" : "mesh-consent";
  }
}
