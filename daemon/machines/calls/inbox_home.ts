/** The human's inbox on another machine: requests for it are calls to that machine. */

import { isProblem, Problem } from "protocol/problems.ts";
import type { InboxHome } from "../../features/inbox/home.ts";
import type { Directory } from "../../features/peers/directory.ts";
import { nameAndMachine } from "../../features/peers/remote/remote_directory.ts";
import { RequestMethod } from "./bounds.ts";
import type { CallClient } from "./call_client.ts";

interface RemoteInboxDeps {
  /** Undefined while this machine is on no bus. */
  readonly calls: Pick<CallClient, "call"> | undefined;
  readonly directory: Pick<Directory, "homeHuman">;
}

export class RemoteInbox implements InboxHome {
  readonly #deps: RemoteInboxDeps;

  constructor(deps: RemoteInboxDeps) {
    this.#deps = deps;
  }

  get isElsewhere(): boolean {
    return this.#deps.directory.homeHuman() !== undefined;
  }

  async forward(
    request: Request,
    { body, human }: { readonly body: string; readonly human: boolean },
  ): Promise<Response> {
    const { calls, directory } = this.#deps;
    const home = directory.homeHuman();
    if (!home || home.daemon_id === null) throw new Problem("no_human", {});
    const { machine: name = home.daemon_id } = nameAndMachine(home.name);
    const { pathname, search } = new URL(request.url);
    if (!calls) throw unreachable(name, "this machine is on no bus", false);
    try {
      return await calls.call({ daemon_id: home.daemon_id, name }, {
        method: RequestMethod.parse(request.method),
        path: `/${pathname.slice(1)}${search}`,
        headers: request.headers,
        body: new TextEncoder().encode(body),
        human,
      });
    } catch (error) {
      if (!isProblem(error, "machine_unreachable")) throw error;
      const { reason, may_have_been_delivered } = error.fields;
      throw unreachable(name, reason, may_have_been_delivered);
    }
  }
}

function unreachable(machine: string, reason: string, may_have_been_delivered: boolean): Problem {
  return new Problem("home_unreachable", { machine, reason, may_have_been_delivered });
}
