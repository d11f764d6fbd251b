/** A page that a relay serves: its sign-in, and the machines that it can switch to. */

import { signal } from "@preact/signals";
import { endpoint, type WireResponse } from "kit/http/client.ts";
import { call, holdFormToken, isRefusal, PREFIX, RELAYED } from "./calls.ts";
import type * as at from "protocol/generated/endpoints.ts";

/** Replaces `getPage` if a relay serves the page; relative to the machine's address there. */
type MachinePage = Omit<typeof at.relayGetMachinePage, "path"> & {
  readonly path: "/dashboard/session";
};
const machinePage = endpoint<MachinePage>("GET", "/dashboard/session");

export type Machine = WireResponse<typeof machinePage>["machines"][number];

/** The machine that this page shows; empty on the daemon's own page. */
export const OWN_ID = RELAYED ? PREFIX.slice(PREFIX.lastIndexOf("/") + 1) : "";

/** The connected machines; undefined until the relay has answered. */
export const machines = signal<readonly Machine[] | undefined>(undefined);

/** The name of this page's machine; kept while it is not connected. */
export const machineName = signal<string | undefined>(undefined);

/** Stands for the relay secret of the sign-in; undefined on the daemon's own page. */
export let account: string | undefined;

/** The sign-ins that this page has seen, by their tokens. */
const sign_ins = new Set<string>();

/** The address of another machine's page, relative to this one; it opens the same view. */
export function machineLink({ daemon_id }: Machine, view: string): string {
  return `../${encodeURIComponent(daemon_id)}/dashboard#/${view}`;
}

/** The relay's own pages, relative to this one. */
export const RELAY_PAGES = {
  signIn: "../../",
  machines: "../../dashboard",
} as const;

/** True if the machine of this page is connected; undefined if that is not known. */
export function isConnected(): boolean | undefined {
  return machines.value?.some(({ daemon_id }) => daemon_id === OWN_ID);
}

/**
 * Reads the sign-in of this browser and the machines. Returns whether somebody is signed in. A
 * browser with a new sign-in loads the page again, because its records belong to the earlier
 * sign-in, which may have been with another secret.
 */
export async function loadRelaySession(): Promise<boolean> {
  try {
    const session = await call(machinePage, {});
    sign_ins.add(session.form_token);
    if (sign_ins.size > 1) location.reload();
    holdFormToken(session.form_token);
    account = session.account;
    machines.value = session.machines;
    const own = session.machines.find(({ daemon_id }) => daemon_id === OWN_ID);
    machineName.value = own?.machine ?? machineName.value;
    return true;
  } catch (error) {
    if (!isRefusal(error, "not_signed_in")) throw error;
    return false;
  }
}
