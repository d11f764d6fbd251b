/** Agents in work trees of several repositories, each with a small change. */

import { join } from "node:path";
import type { SocketPeer, SocketPeerFields } from "../dashboard/socket_peer.ts";
import { TestRepository } from "./repository.ts";

/** The change of an agent in its work tree. */
export interface WorkTree {
  readonly name: string;
  readonly folder: string;
  readonly repo: TestRepository;
}

export class WorkTrees implements Disposable {
  readonly repos: readonly TestRepository[];
  readonly trees: readonly WorkTree[];

  /** So many work trees, in turn of so many repositories. */
  constructor(count: number, repositories: number) {
    this.repos = Array.from({ length: repositories }, () => {
      const repo = new TestRepository();
      for (const name of ["login", "search", "upload"]) {
        const lines = Array.from({ length: 40 }, (_, at) => `export const ${name}${at} = ${at};`);
        repo.write(`src/${name}.ts`, `${lines.join("\n")}\n`);
      }
      repo.commit();
      return repo;
    });
    this.trees = Array.from({ length: count }, (_, at) => {
      const repo = this.repos[at % repositories];
      if (!repo) throw new Error("No repository");
      const name = `agent${at}`;
      const folder = join(repo.parent, name);
      repo.git("worktree", "add", "-q", "-b", name, folder);
      const file = ["login", "search", "upload"][at % 3] ?? "login";
      const path = join(folder, "src", `${file}.ts`);
      const text = Deno.readTextFileSync(path);
      const line = 3 + at % 20;
      const before = `export const ${file}${line} = ${line};`;
      Deno.writeTextFileSync(
        path,
        text.replace(before, `export const ${file}${line} = ${at * 7};`),
      );
      Deno.writeTextFileSync(join(folder, `notes${at}.md`), `Notes of ${name}\n`);
      return { name, folder, repo };
    });
  }

  /** Connects an agent for each work tree. */
  async connect(
    lab: { peer(fields: SocketPeerFields): Promise<SocketPeer> },
  ): Promise<SocketPeer[]> {
    const peers = [];
    for (const { name, folder } of this.trees) {
      peers.push(await lab.peer({ name, path: folder, backend: "sdk" }));
    }
    return peers;
  }

  [Symbol.dispose](): void {
    for (const repo of this.repos) repo[Symbol.dispose]();
  }
}
