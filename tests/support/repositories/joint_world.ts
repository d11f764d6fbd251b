/** Agents in two work trees of a repository, whose work a real check is run on. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { systemClock } from "kit/core/clock.ts";
import { programRunnerOf } from "../../../daemon/host/programs.ts";
import { addPeer, reportSessions } from "../daemon/peer_clients.ts";
import { until } from "../waiting.ts";
import { FakeSockets, world } from "../world.ts";
import { realGit, TestRepository } from "./repository.ts";

const PIDS = { api: 41, web: 42, far: 43 } as const;
type Peer = keyof typeof PIDS;

/** Fails if both marks are in the files: neither work alone has both. */
export const CHECK =
  'if grep -qs A2 a.txt lib.txt && grep -qs B2 a.txt use.txt; then echo "both"; exit 1; fi';

interface JointOptions {
  readonly argv?: readonly string[];
  readonly isOff?: boolean;
  readonly settings?: Readonly<Record<string, string>>;
  readonly circles?: Partial<Record<Peer, string>>;
  /** Peers in the folder of another one. */
  readonly folders?: Partial<Record<Peer, Peer>>;
  readonly prepare?: (repo: TestRepository) => void;
  /** The name of the main folder, which holds the objects. */
  readonly folder?: string;
  /** Arguments of `git init`. */
  readonly init?: readonly string[];
}

/** A repository with the work trees of api and web, and the folder of far around it. */
function workTrees({ prepare, folder = "work", init = [] }: JointOptions) {
  const repo = new TestRepository(...init);
  const lines = Array.from({ length: 20 }, (_, at) => `line ${at}`);
  repo.write("a.txt", `${lines.join("\n")}\n`);
  repo.write("other.txt", "other\n");
  prepare?.(repo);
  repo.commit();
  const main = join(repo.parent, folder);
  Deno.renameSync(repo.folder, main);
  const trees = { api: join(repo.parent, "api"), web: join(repo.parent, "web"), far: repo.parent };
  for (const name of ["api", "web"] as const) {
    repo.gitIn(main, "worktree", "add", "-q", "-b", `work-${name}`, trees[name]);
  }
  return { repo, trees };
}

/** Changes files in the work trees of api and web. */
function editorOf(repo: TestRepository, trees: Readonly<Record<Peer, string>>) {
  return {
    /** Changes one line of a file in a peer's work tree. */
    change(peer: "api" | "web", file: string, line: number, text: string): void {
      const path = join(trees[peer], file);
      const lines = Deno.readTextFileSync(path).split("\n");
      lines[line] = text;
      Deno.writeTextFileSync(path, lines.join("\n"));
    },
    write(peer: "api" | "web", file: string, text: string): void {
      Deno.writeTextFileSync(join(trees[peer], file), text);
    },
    commit(peer: "api" | "web"): void {
      repo.gitIn(trees[peer], "add", "-A");
      repo.gitIn(trees[peer], "commit", "-q", "-m", "work");
    },
  };
}

/** The agents api and web in two work trees of a repository, far in a folder without one. */
export async function jointWorld(
  { argv = ["sh", "-c", CHECK], isOff = false, settings, circles, folders, ...tree }: JointOptions =
    {},
) {
  const { repo, trees } = workTrees(tree);
  const sockets = new FakeSockets();
  const w = world({
    settings: {
      "human.name": "sam",
      "spawn.allowed_paths": JSON.stringify([repo.parent]),
      "jobs.checks": JSON.stringify({ tests: { argv } }),
      ...!isOff && { "joint_checks.check": "tests" },
      ...settings,
    },
    at_terminal: true,
    sockets,
    git: realGit,
    programs: programRunnerOf(systemClock, { PATH: Deno.env.get("PATH") ?? "" }),
  });
  for (const [name, agent_pid] of Object.entries(PIDS) as [Peer, number][]) {
    w.processes.start(agent_pid);
    const circle = circles?.[name] ?? "main";
    const path = trees[folders?.[name] ?? name];
    await addPeer(w, name, { backend: "claude-code", circle, path, agent_pid });
  }
  reportSessions(w);
  const list = async (from?: Peer) => {
    sockets.holders = [from === undefined ? 77 : PIDS[from]];
    const headers: Record<string, string> = from === undefined ? { "x-mesh-terminal": "77" } : {};
    const query = from === undefined ? "" : `?from_peer=${from}`;
    return await (await w.fetch(`/joint-checks${query}`, { headers })).json();
  };
  return {
    w,
    repo,
    trees,
    list,
    ...editorOf(repo, trees),
    /** Runs a pass to its end. */
    async pass() {
      await w.tick(61);
      await until("the end of a pass", () => w.daemon.ctx.background.size === 0);
      assert.deepEqual(w.logged, []);
      return await list();
    },
    async messages(peer: string): Promise<Record<string, string>[]> {
      const { messages } = await (await w.fetch(`/messages?peer=${peer}`)).json();
      return messages.filter(({ from_peer_name }: Record<string, unknown>) =>
        from_peer_name === "mesh"
      );
    },
    async [Symbol.asyncDispose]() {
      await w[Symbol.asyncDispose]();
      repo[Symbol.dispose]();
    },
  };
}

/** Both works change a.txt, in lines that git merges, and fail together. */
export function failTogether(at: Awaited<ReturnType<typeof jointWorld>>): void {
  at.change("api", "a.txt", 0, "A2");
  at.change("web", "a.txt", 19, "B2");
}
