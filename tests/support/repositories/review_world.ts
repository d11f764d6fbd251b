/** A daemon whose agents work in the work trees of one repository, and a person at a terminal. */

import { join } from "node:path";
import type { ProgramRunner } from "../../../daemon/host/programs.ts";
import { addPeer } from "../daemon/peer_clients.ts";
import { FakeSockets, world } from "../world.ts";
import { realGit, TestRepository } from "./repository.ts";

const TERMINAL = { "x-mesh-terminal": "77" };

const PERSON_PID = 77;

export interface ReviewAnswer {
  readonly status: number;
  // deno-lint-ignore no-explicit-any -- The body of any route, as a test reads it.
  readonly [field: string]: any;
}

/** Checks run only with a runner of programs. */
export function reviewWorld(
  settings: Readonly<Record<string, string>> = {},
  programs?: ProgramRunner,
) {
  const repo = new TestRepository();
  repo.write("a.txt", "one\ntwo\nthree\n");
  repo.write("b.txt", "b\n");
  repo.commit();
  const sockets = new FakeSockets();
  sockets.holders = [PERSON_PID];
  const w = world({
    settings: {
      "human.name": "sam",
      "spawn.allowed_paths": JSON.stringify([repo.parent]),
      ...settings,
    },
    at_terminal: true,
    sockets,
    git: realGit,
    ...programs && { programs },
  });
  let pid = 40;
  const request = async (path: string, init: RequestInit): Promise<ReviewAnswer> => {
    const response = await w.fetch(path, init);
    return { status: response.status, ...await response.json() };
  };
  return {
    w,
    repo,
    sockets,
    /** Registers an agent in a new work tree on a branch of its name; returns the folder. */
    async agent(name: string, more: Record<string, unknown> = {}) {
      const folder = join(repo.parent, name);
      repo.git("worktree", "add", "-q", "-b", name, folder);
      w.processes.start(++pid);
      const path = folder;
      const peer = await addPeer(w, name, { circle: "main", path, agent_pid: pid, ...more });
      await w.post(`/peers/${name}/turn`, { turn_state: "idle" });
      return { folder, peer_id: peer.peer_id, pid };
    },
    write: (folder: string, file: string, text: string) =>
      Deno.writeTextFileSync(join(folder, file), text),
    get: (path: string, headers: Record<string, string> = TERMINAL) => request(path, { headers }),
    post: (path: string, body: unknown, headers: Record<string, string> = TERMINAL) =>
      request(path, { method: "POST", body: JSON.stringify(body), headers }),
    /** The list, with folders read first. */
    list(query = "") {
      return this.get(`/reviews?fresh=true&${query}`);
    },
    async [Symbol.asyncDispose]() {
      await w[Symbol.asyncDispose]();
      repo[Symbol.dispose]();
    },
  };
}
