/** Kills the daemon during a joint check and after its report: nothing is left or doubled. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isAlive } from "../../daemon/host/processes.ts";
import { readTextOrNothing } from "../../daemon/host/paths.ts";
import { RealDaemon, temporary } from "../support/programs/child.ts";
import { TestRepository } from "../support/repositories/repository.ts";
import { until } from "../support/waiting.ts";

/** Two passes begin within this time of each other. */
const PASS_MS_MAX = 120_000;

/** Names its processes and stays, until a file allows it to look at the joined files. */
const CHECK = [
  'if test -e "$0/go"; then grep -qs A2 a.txt && grep -qs B2 a.txt && exit 1; exit 0; fi',
  'setsid sleep 300 & echo "$$ $!" > "$0/pids.part"; mv "$0/pids.part" "$0/pids"; wait; sleep 300',
].join("\n");

/** Two agents in two work trees of a repository, which fail together, and their daemon. */
class JointFixture implements AsyncDisposable {
  readonly #state = temporary();
  readonly repo = new TestRepository();
  readonly #agents = new Map(
    ["api", "web"].map((name) => {
      return [name, new Deno.Command("sleep", { args: ["600"], stdin: "null" }).spawn()];
    }),
  );
  #daemon: RealDaemon | undefined;

  constructor() {
    this.repo.write("a.txt", `first\n${"line\n".repeat(20)}last\n`);
    this.repo.commit();
    for (const [name, from, to] of [["api", "first", "A2"], ["web", "last", "B2"]] as const) {
      const tree = this.treeOf(name);
      this.repo.git("worktree", "add", "-q", "-b", name, tree);
      const text = Deno.readTextFileSync(join(tree, "a.txt"));
      Deno.writeTextFileSync(join(tree, "a.txt"), text.replace(from, to));
    }
    Deno.mkdirSync(this.tmp);
  }

  get path(): string {
    return this.#state.path;
  }

  /** The folder for temporary files of the daemon. */
  get tmp(): string {
    return join(this.path, "tmp");
  }

  treeOf(name: string): string {
    return join(this.repo.parent, name);
  }

  async start(): Promise<void> {
    const { path } = this;
    const settings = {
      MESH_JOBS__CHECKS: JSON.stringify({ tests: { argv: ["sh", "-c", CHECK, path] } }),
      MESH_JOINT_CHECKS__CHECK: "tests",
      MESH_SPAWN__ALLOWED_PATHS: JSON.stringify([this.repo.parent]),
      TMPDIR: this.tmp,
    };
    this.#daemon = await RealDaemon.start(path, { settings });
  }

  async kill(): Promise<void> {
    await this.#daemon?.kill();
  }

  /** Registers the agents, whose hooks have reported their sessions, and this test. */
  async register(): Promise<void> {
    const pids = [...this.#agents].map(([name, { pid }]) => [name, this.treeOf(name), pid]);
    for (const [name, path, agent_pid] of [...pids, ["reader", this.treeOf("api"), Deno.pid]]) {
      const body = JSON.stringify({ name, path, agent_pid, backend: "sdk", circle: "main" });
      await (await fetch(`${this.#daemon?.base}/peers`, { method: "POST", body })).json();
    }
    await this.kill();
    const db = new DatabaseSync(join(this.path, "mesh.db"));
    db.exec("update peers set session_proved = 1");
    db.close();
  }

  async get(path: string) {
    return await (await fetch(`${this.#daemon?.base}${path}`)).json();
  }

  /** The messages of the daemon to a peer. */
  async messages(peer: string): Promise<Record<string, string>[]> {
    const { messages } = await this.get(`/messages?peer=${peer}`);
    return messages.filter((message: Record<string, unknown>) =>
      message["from_peer_name"] === "mesh"
    );
  }

  /** The files that passes make. */
  left(): string[] {
    const folders = [join(this.path, "joint-checks"), this.tmp];
    return folders.flatMap((folder) => [...Deno.readDirSync(folder)].map(({ name }) => name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#daemon?.stop();
    for (const process of this.#agents.values()) {
      process.kill("SIGKILL");
      await process.status;
    }
    this.repo[Symbol.dispose]();
    this.#state[Symbol.dispose]();
  }
}

Deno.test({
  name: "kill -9 during a joint check and after its report: nothing is left, and one ask is sent",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using fixture = new JointFixture();
    await fixture.start();
    await fixture.register();
    await fixture.start();
    const pids = await until("the processes of the check", () => {
      return readTextOrNothing(join(fixture.path, "pids"))?.trim().split(" ").map(Number);
    }, PASS_MS_MAX);
    await fixture.kill();
    assert.deepEqual(pids.filter((pid) => isAlive(pid)), pids, "nobody could end them");
    assert.ok(fixture.left().some((name) => name.startsWith("tree-")));
    Deno.writeTextFileSync(join(fixture.path, "go"), "");
    await fixture.start();
    await until("the end of the check's processes", () => !pids.some((pid) => isAlive(pid)));
    const isReported = async () => (await fixture.messages("web")).length > 0;
    await until("the report", isReported, PASS_MS_MAX);
    await fixture.kill();
    await fixture.start();
    await until("another pass", async () => {
      const { running, repositories } = await fixture.get("/joint-checks?from_peer=reader");
      return !running && repositories[0]?.pairs[0]?.result === "failed";
    }, PASS_MS_MAX);
    assert.deepEqual(fixture.left(), []);
    const [api, web] = [await fixture.messages("api"), await fixture.messages("web")];
    assert.deepEqual([api.length, web.length], [1, 1]);
  },
});
