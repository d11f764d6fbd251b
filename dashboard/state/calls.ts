/** Calls of the daemon, relative to the page's address, and the text of their errors. */

import { signal } from "@preact/signals";
import { ApiError, type Call, client } from "kit/http/client.ts";
import { setByHeader } from "./clock.ts";

/** The address in front of `/dashboard`: empty on the daemon. */
export const PREFIX = location.pathname.replace(/\/dashboard\/?$/, "");

/** True if a relay serves this page (contract 9). */
export const RELAYED = /^\/m\/[^/]+$/.test(PREFIX);

/** Maximum time of a load: its connection may be lost without a sign. */
export const LOAD_MS_MAX = 15_000;
/** Maximum time of an act: the daemon holds a request for at most a minute. */
const ACT_MS_MAX = 90_000;
/** Maximum time of an upload: a browser does not report its progress. */
const UPLOAD_MS_MAX = 600_000;

const SESSION = "/dashboard/session";

/** The number of calls that were refused because nobody is signed in. */
export const unauthorized = signal(0);

/** The number of calls that failed because nothing answered. */
export const unanswered = signal(0);

let form_token: string | undefined;
/** A relay answers only calls with the token of the sign-in. */
const tokenHeld = Promise.withResolvers<void>();
let loads = new AbortController();

/** Ends all running loads, whose answers may never come. */
export function abortLoads(): void {
  loads.abort();
  loads = new AbortController();
}

/** The token that ties each call to the sign-in at the relay. */
export function holdFormToken(token: string): void {
  form_token = token;
  tokenHeld.resolve();
}

/** Calls the daemon; through the relay, if a relay serves this page. */
export const call = client(location.origin + PREFIX, send);

/** Calls the relay itself; only on a page that it serves. */
export const relayCall = client(location.origin, send);

async function send(request: Request): Promise<Response> {
  if (RELAYED && !request.url.endsWith(SESSION)) await tokenHeld.promise;
  if (form_token !== undefined) request.headers.set("x-mesh-form-token", form_token);
  const response = await (request.method === "GET" ? load(request) : act(request));
  setByHeader(response.headers.get("date"));
  if (response.status === 401) unauthorized.value++;
  return response;
}

function load(request: Request): Promise<Response> {
  // Reopening the stream asks for the session itself.
  const signals = request.url.endsWith(SESSION) ? [] : [loads.signal];
  return within(LOAD_MS_MAX, "Try again.", (signal) => whole(request, [signal, ...signals]));
}

function act(request: Request): Promise<Response> {
  const isUpload = request.headers.get("content-type")?.startsWith("multipart/");
  return within(
    isUpload ? UPLOAD_MS_MAX : ACT_MS_MAX,
    "It may still do what you asked for: look before you try again.",
    (signal) => whole(request, [signal]),
  );
}

/** The time limit covers the whole answer. */
async function whole(request: Request, signals: readonly AbortSignal[]): Promise<Response> {
  const signal = AbortSignal.any([request.signal, ...signals]);
  try {
    const response = await fetch(request, { signal });
    return new Response(await response.arrayBuffer(), response);
  } catch (error) {
    if (isNetworkError(error)) unanswered.value++;
    throw error;
  }
}

/** Aborts work whose server does not answer in time, with an error that says so. */
export async function within<T>(
  ms: number,
  advice: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = new AbortController();
  const timer = setTimeout(() => {
    const server = RELAYED ? "relay" : "daemon";
    timeout.abort(new Error(`The ${server} has not answered for ${ms / 1000} seconds. ${advice}`));
  }, ms);
  try {
    return await work(timeout.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Calls with a form as the body, such as an upload. */
export function callWithForm(form: FormData): Call {
  return client(location.origin + PREFIX, (request) => send(new Request(request, { body: form })));
}

/** An error as one text for a person: what happened, and what to do. */
export function errorText(error: unknown): string {
  if (error instanceof ApiError) {
    const { detail, hint, error: code } = error.problem;
    if (code === "not_found") {
      return `This daemon is older: ${detail.charAt(0).toLowerCase()}${detail.slice(1)}. ` +
        "Update it on its machine.";
    }
    const known = UNAVAILABLE[code];
    if (known !== undefined) return known;
    return hint ? `${detail}. To do: ${hint}.` : `${detail}.`;
  }
  if (isNetworkError(error)) {
    return `The ${RELAYED ? "relay" : "daemon"} does not answer. Try again.`;
  }
  return error instanceof Error ? error.message : String(error);
}

/** A request that did not reach its server; other errors of this type are bugs of the page. */
export function isNetworkError(error: unknown): boolean {
  return error instanceof TypeError && NETWORK_ERRORS.test(error.message);
}

/** The error texts of Chromium, Firefox and Safari. */
const NETWORK_ERRORS = /fetch|network|load failed/i;

export const NOT_THROUGH_RELAY =
  "Not available through a relay. Open the dashboard on that machine itself.";

/** Refusals of routes that do not pass a machine's tunnel; a second try does not help. */
const UNAVAILABLE: Readonly<Record<string, string>> = {
  not_through_relay: NOT_THROUGH_RELAY,
  not_for_devices: "Not available on a paired device. Open the dashboard on that machine itself.",
  relay_admin_off: "Not available through a relay, as relay.allow_admin is off on that machine.",
};

/** True if an error means that the machine does not offer something, which is not a failure. */
export function isUnavailable(error: unknown): boolean {
  return isRefusal(error, "not_found") ||
    error instanceof ApiError && Object.hasOwn(UNAVAILABLE, error.problem.error);
}

/** True if the daemon refused the call with this code. */
export function isRefusal(error: unknown, code: string): boolean {
  return error instanceof ApiError && error.problem.error === code;
}
