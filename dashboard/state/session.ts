/** For whom this page speaks: redeems the ticket of `mesh open` (contract 10). */

import { signal } from "@preact/signals";
import { ApiError } from "kit/http/client.ts";
import { call, isNetworkError, PREFIX, RELAYED } from "./calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import { loadRelaySession } from "./relay.ts";
import { peers } from "./store.ts";

/**
 * - `human`: messages of this page count as the human's;
 * - `operator`: it shows everything, but its messages are marked as unverified;
 * - `nobody`: no human is registered;
 * - `refused`: the ticket was already used, or is too old;
 * - `unknown`: the daemon does not accept this page;
 * - `ended`: the daemon has accepted this page, but no longer does;
 * - `signed_out`: nobody is signed in to the relay in this browser.
 */
export type SessionState =
  | "asking"
  | "human"
  | "operator"
  | "nobody"
  | "refused"
  | "unknown"
  | "ended"
  | "signed_out";

export const sessionState = signal<SessionState>("asking");
export const humanName = signal<string | null>(null);

const RELOADED = "mesh-reloaded";
const RETRY_MS = 3000;

/** The pages of this browser share one cookie: a ticket that one page redeems works for all. */
const pages = new BroadcastChannel(`mesh-session ${PREFIX}`);

/** Kept until the daemon has accepted or refused it. */
let ticket: string | null = null;
let ticket_refused = false;
let checking: Promise<void> | undefined;
let retry: ReturnType<typeof setTimeout> | undefined;

/**
 * The ticket is in the fragment, which browsers send to no server; it is removed from the address
 * first.
 */
export async function startSession(): Promise<void> {
  await checking;
  ticket = RELAYED ? null : new URLSearchParams(location.hash.slice(1)).get("ticket");
  if (ticket) history.replaceState(history.state, "", location.pathname);
  await checkSession();
}

/**
 * Asks for whom this page speaks: another page may have redeemed a ticket, a cookie ends, and the
 * daemon may have got a human. If nobody answers, nothing changes.
 */
export function checkSession(): Promise<void> {
  const check = RELAYED ? checkRelayed : checkOwn;
  return checking ??= check().catch(retryLater).finally(() => checking = undefined);
}

/** Ends the session of this browser; the daemon then knows none of its pages. */
export async function signOut(): Promise<void> {
  await call(at.endPage, {});
  pages.postMessage("signed out");
  // The loaded records leave the page with the session.
  location.reload();
}

/** Asks again when another page of this browser has redeemed a ticket, or has signed out. */
export function watchSession(): void {
  pages.onmessage = () => checkSession();
}

/** If the daemon cannot be reached, the page asks again when the event stream opens. */
function retryLater(error: unknown): void {
  if (RELAYED || isNetworkError(error)) return;
  clearTimeout(retry);
  retry = setTimeout(checkSession, RETRY_MS);
}

async function checkOwn(): Promise<void> {
  await redeemTicket();
  try {
    const { human, human_name } = await call(at.getPage, {});
    sessionStorage.removeItem(RELOADED);
    humanName.value = human_name;
    if (human) ticket_refused = false;
    const known = human ? "human" : human_name === null ? "nobody" : "operator";
    sessionState.value = ticket_refused ? "refused" : known;
  } catch (error) {
    if (!isRefused(error)) throw error;
    const is_new = sessionState.value === "asking";
    if (ticket_refused) sessionState.value = "refused";
    else if (is_new || sessionState.value === "unknown") sessionState.value = "unknown";
    else sessionState.value = "ended";
    // A page that a link on another site opened has no cookie yet: a reload sets it.
    if (!is_new || ticket_refused || sessionStorage.getItem(RELOADED)) return;
    sessionStorage.setItem(RELOADED, "1");
    location.reload();
  }
}

async function redeemTicket(): Promise<void> {
  if (!ticket) return;
  try {
    await call(at.redeemTicket, { body: { ticket } });
    pages.postMessage("redeemed");
  } catch (error) {
    if (!isRefused(error)) throw error;
    ticket_refused = true;
  }
  ticket = null;
}

/** True if the daemon has decided; other failures say nothing about the page. */
function isRefused(error: unknown): boolean {
  return error instanceof ApiError && [400, 401, 403].includes(error.status);
}

/**
 * Messages of a browser that is signed in to the relay count as the human's (contract 2). The name
 * is in the list of peers, because the relay knows no peer.
 */
async function checkRelayed(): Promise<void> {
  if (!await loadRelaySession()) {
    sessionState.value = "signed_out";
    return;
  }
  if (sessionState.value === "human") return;
  const human = (await peers.whenLoaded()).find(({ role }) => role === "human");
  humanName.value = human?.name ?? null;
  sessionState.value = human ? "human" : "nobody";
}
