/** The settings of the message bus between machines: their shapes, and how they fit together. */

import * as z from "zod";
import { Name } from "kit/core/schema.ts";
import { isLoopback } from "../../host/paths.ts";

/** The port of a NATS server. */
export const BUS_PORT = 4222;

const ADDRESS = /^(nats|tls):\/\/(\[[0-9a-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?\/?$/i;
const ALLOWED = "tls://HOST:PORT, or nats://HOST:PORT; several with commas; no user, no path";

/** The host of each server in the text of `mesh.bus.url`; undefined if an address is malformed. */
function serversIn(text: string): { scheme: string; host: string }[] | undefined {
  const found = text.split(",").map((part) => {
    const [, scheme, host, port] = ADDRESS.exec(part.trim()) ?? [];
    const isPort = port === undefined || (Number(port) >= 1 && Number(port) <= 65_535);
    return scheme && host && isPort ? { scheme: scheme.toLowerCase(), host } : undefined;
  });
  return found.every((server) => server !== undefined) ? found : undefined;
}

export const BusUrl = z.string().refine((text) => serversIn(text) !== undefined, ALLOWED)
  .describe(ALLOWED);

/** A name that follows `@` in the names of peers. The id of a machine is not a name. */
export const MachineName = Name.refine((name) => !/^dm-/i.test(name))
  .describe("a name: letters, digits, dots, underscores, hyphens; not dm-…");

/** The name of a machine whose settings do not name it: the valid part of its host name. */
export function nameOfHost(hostname: string): string {
  const [label = ""] = hostname.split(".");
  const name = label.split(/[^\w]+/).filter((part) => part !== "").join("-").slice(0, 64);
  const named = MachineName.safeParse(name.toLowerCase());
  return named.success ? named.data : "machine";
}

/** Settings of the bus. A setting with a mistake is absent. */
interface BusSettings {
  readonly "mesh.bus.url"?: string | undefined;
  readonly "mesh.bus.ca"?: string | undefined;
  readonly "mesh.bus.creds"?: string | undefined;
  readonly "mesh.bus.human_home"?: string | undefined;
  readonly "mesh.bus.allow_admin"?: readonly string[] | undefined;
  readonly "mesh.bus.allow_prove"?: readonly string[] | undefined;
}

/** The mistakes in the combination of the settings. */
export function busMistakes(settings: BusSettings): string[] {
  const url = settings["mesh.bus.url"];
  return url === undefined ? withoutUrl(settings) : withoutTls(url, settings["mesh.bus.ca"]);
}

/** The settings that need a bus. Without a bus, such a setting shows a forgotten address. */
function withoutUrl(settings: BusSettings): string[] {
  const given = {
    "mesh.bus.ca": settings["mesh.bus.ca"] !== undefined,
    "mesh.bus.creds": settings["mesh.bus.creds"] !== undefined,
    "mesh.bus.human_home": settings["mesh.bus.human_home"] !== undefined,
    "mesh.bus.allow_admin": (settings["mesh.bus.allow_admin"] ?? []).length > 0,
    "mesh.bus.allow_prove": (settings["mesh.bus.allow_prove"] ?? []).length > 0,
  };
  return Object.entries(given).filter(([, isGiven]) => isGiven).map(([key]) =>
    `mesh.bus.url: found nothing with ${key}; ` +
    "allowed: the address that `mesh machines join` writes, or neither of the two"
  );
}

/** A server on another machine must prove itself, or everybody on the way could be the bus. */
function withoutTls(url: string, ca: string | undefined): string[] {
  const servers = serversIn(url) ?? [];
  const open = servers.filter(({ scheme, host }) => scheme !== "tls" && !isLoopback(host));
  if (open.length === 0 || ca !== undefined) return [];
  return [
    `mesh.bus.url: found "${url}" without mesh.bus.ca; allowed for the host ` +
    `${open[0]?.host}, which is not this machine: tls://HOST:PORT, or mesh.bus.ca with the ` +
    "certificate of the server's authority",
  ];
}
