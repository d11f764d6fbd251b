/** Interrupts of peers on other machines: a person's request is a call to the peer's machine. */

import type { Caller, Route } from "kit/http/route.ts";
import type { Directory } from "../../features/peers/directory.ts";
import { nameAndMachine } from "../../features/peers/remote/remote_directory.ts";
import type { CallClient } from "./call_client.ts";

interface PeerRouteDeps {
  /** Undefined while this machine is on no bus. */
  readonly calls: Pick<CallClient, "call"> | undefined;
  readonly directory: Pick<Directory, "findAnywhere" | "scopeOf">;
  readonly isProvenHuman: (caller: Caller, headers: Headers) => boolean;
}

/**
 * Makes the route that interrupts a peer one that the peer's machine answers, if a person calls.
 * That machine decides if this one may administer it. Other callers reach peers here only.
 */
export function interruptElsewhere(
  { contract, run }: Route,
  { calls, directory, isProvenHuman }: PeerRouteDeps,
): Route {
  return {
    contract,
    run(request, caller, guard) {
      const { raw } = request;
      const { circle, from_peer } = request.query();
      const scope = directory.scopeOf({ circle, from_peer });
      // A machine does not pass on what another machine has passed on to it.
      const isPassedOn = caller.via === "machine";
      const peer = directory.findAnywhere(request.param()["id"] ?? "", scope);
      if (isPassedOn || !calls || peer.daemon_id === null || !isProvenHuman(caller, raw.headers)) {
        return run(request, caller, guard);
      }
      const { daemon_id, peer_id } = peer;
      const { machine: name = daemon_id } = nameAndMachine(peer.name);
      return calls.call({ daemon_id, name }, {
        method: "POST",
        path: `/peers/${peer_id}/interrupt`,
        headers: new Headers({ "content-type": "application/json" }),
        body: new TextEncoder().encode("{}"),
        human: true,
      });
    },
  };
}
