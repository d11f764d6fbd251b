/** Reads what changed in the folder of a peer on another machine, with a call to that machine. */

import { Problem } from "protocol/problems.ts";
import type { ChangesQuery } from "protocol/changes.ts";
import type { ChangesElsewhere } from "../../features/changes/elsewhere.ts";
import type { Address } from "protocol/peers/record.ts";
import { nameAndMachine } from "../../features/peers/remote/remote_directory.ts";
import type { CallClient } from "./call_client.ts";
import { callForPerson } from "./person_calls.ts";

export class RemoteChanges implements ChangesElsewhere {
  readonly #calls: Pick<CallClient, "call"> | undefined;

  /** Undefined while this machine is on no bus. */
  constructor(calls: Pick<CallClient, "call"> | undefined) {
    this.#calls = calls;
  }

  async read(
    { peer_id, name, daemon_id }: Address,
    { offset, limit, file }: ChangesQuery,
  ): Promise<unknown> {
    const { machine = daemon_id ?? "" } = nameAndMachine(name);
    const refuse = (reason: string) => new Problem("changes_elsewhere", { machine, reason });
    if (!this.#calls || daemon_id === null) throw refuse("this machine is on no bus");
    const query = new URLSearchParams({
      offset: String(offset),
      limit: String(limit),
      ...(file !== undefined && { file }),
    });
    return await callForPerson(this.#calls, { daemon_id, name: machine }, {
      method: "GET",
      path: `/peers/${encodeURIComponent(peer_id)}/changes?${query}`,
      headers: new Headers(),
    }, refuse);
  }
}
