/** Recognizes reconnecting clients of `/ws` by their `client_id` (contract 4). */

import { sha256 } from "kit/host/node_library.ts";
import type { Registration } from "protocol/peers/record.ts";

/** The key of a client's metadata. Only the client knows its value, so no record contains it. */
const CLIENT_ID = "client_id";

/**
 * The digest by which a client's peer is found, of its `client_id`, and of the name, the backend
 * and the circle that it gives. Undefined without a `client_id`.
 */
export function clientKeyOf(
  { name, backend, metadata }: Registration,
  circle: string,
): string | undefined {
  const client_id = metadata?.[CLIENT_ID];
  if (typeof client_id !== "string" || client_id === "") return undefined;
  const claim = JSON.stringify([client_id, name ?? null, backend, circle]);
  return sha256(claim, "hex");
}

/** A registration without the `client_id`, which is neither stored nor shown. */
export function withoutClientId(registration: Registration): Registration {
  if (registration.metadata === undefined) return registration;
  const { [CLIENT_ID]: _, ...metadata } = registration.metadata;
  return { ...registration, metadata };
}
