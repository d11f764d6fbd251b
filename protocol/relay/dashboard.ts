/** The dashboard of one machine at the relay: its page, its files, and for whom it speaks. */

import * as z from "zod";
import { atRelay, contract } from "protocol/contract.ts";
import { Machine } from "protocol/relay/daemons.ts";

const file = { ...atRelay, returns: z.string() } as const;

export const showMachine = contract({
  ...file,
  id: "relay.dashboard.page",
  method: "GET",
  path: "/m/:daemon_id/dashboard",
  summary: "The dashboard of one machine, from the relay's own files; for signed-in browsers",
  responseType: "text/html",
  fails: ["not_found"],
});

export const getMachineAsset = contract({
  ...file,
  id: "relay.dashboard.asset",
  method: "GET",
  path: "/m/:daemon_id/dashboard/assets/:name",
  summary: "A file of the dashboard; its name changes with its content",
  responseType: "text/javascript",
  fails: ["not_found"],
});

export const getMachineManifest = contract({
  ...file,
  id: "relay.dashboard.manifest",
  method: "GET",
  path: "/m/:daemon_id/dashboard/manifest.webmanifest",
  summary:
    "What a browser needs to install the dashboard as an app; its name for signed-in browsers",
  responseType: "application/manifest+json",
  fails: ["not_found"],
});

export const getMachineWorker = contract({
  ...file,
  id: "relay.dashboard.worker",
  method: "GET",
  path: "/m/:daemon_id/dashboard/worker.js",
  summary: "The service worker, which opens the dashboard while the relay cannot be reached",
  responseType: "text/javascript",
  fails: ["not_found"],
});

export const getMachinePage = contract({
  id: "relay.dashboard.session",
  method: "GET",
  path: "/m/:daemon_id/dashboard/session",
  summary: "The sign-in of this browser, and the connected machines; for pages of the relay",
  ...atRelay,
  returns: z.object({
    /** Stands for the relay secret: the same for each sign-in with it. */
    account: z.string(),
    /** Sent with each call as `x-mesh-form-token`: it ties the call to this sign-in. */
    form_token: z.string(),
    machines: z.array(Machine),
  }),
  fails: ["not_signed_in", "foreign_page"],
});
