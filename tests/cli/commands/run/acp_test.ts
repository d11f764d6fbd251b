/** `mesh run --acp` with a real daemon: what becomes of its messages, and how it ends. */

import assert from "node:assert/strict";
import { DENO_DIR, RealDaemon, temporary } from "../../../support/programs/child.ts";
import { meshArguments } from "../../../support/programs/program.ts";
import { until } from "../../../support/waiting.ts";

/** Opens a session, keeps the request of the first prompt in a file, and does not answer it. */
const DIES = String.raw`
answer() { read -r line; printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
answer 1 '{"protocolVersion":1,"agentInfo":{"name":"sh","version":"1"}}'
answer 2 '{"sessionId":"s1"}'
read -r line; printf '%s\n' "$line" >> prompts; exit "$CODE"
`;
/** The same, but answers the prompt, and goes on until its input ends. */
const ANSWERS = DIES.replace('exit "$CODE"', `answered`).replace(
  "answer()",
  String.raw`
answered() { printf '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}\n'; cat; }
answer()`,
);

class Fixture implements AsyncDisposable {
  readonly #dir = temporary();
  #daemon: RealDaemon | undefined;

  async start(): Promise<this> {
    this.#daemon = await RealDaemon.start(this.#dir.path);
    return this;
  }

  /** Runs an agent; a shell script is named `agent.sh`, so that both are the same program. */
  run(script: string, argv: readonly string[] = ["sh", "agent.sh"]) {
    const dir = this.#dir.path;
    Deno.writeTextFileSync(`${dir}/agent.sh`, script);
    const env = {
      MESH_STATE: dir,
      MESH_CONFIG: "/none",
      HOME: dir,
      DENO_DIR,
      PATH: Deno.env.get("PATH") ?? "",
      CODE: "5",
      NO_COLOR: "1",
    };
    return new Deno.Command(Deno.execPath(), {
      args: meshArguments(["run", "--acp", "--name", "api", "--", ...argv]),
      env,
      clearEnv: true,
      cwd: dir,
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
  }

  async waitForEnd(child: Deno.ChildProcess): Promise<{ code: number; text: string }> {
    const { code, stderr } = await child.output();
    return { code, text: new TextDecoder().decode(stderr) };
  }

  async get(path: string): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.#daemon?.base}${path}`);
    return await response.json();
  }

  peer(status: string) {
    return until(`the peer to be ${status}`, async () => {
      const peer = await this.get("/peers/api");
      return peer["status"] === status ? peer : undefined;
    });
  }

  async notify(text: string): Promise<string> {
    const body = JSON.stringify({ from_peer: "tester", to_peer: "api", text });
    const response = await fetch(`${this.#daemon?.base}/notify`, { method: "POST", body });
    return (await response.json())["delivery_id"];
  }

  async stages(id: string): Promise<string[]> {
    const { stages } = await this.get(`/traces/${id}`) as { stages: { stage: string }[] };
    return stages.map(({ stage }) => stage);
  }

  get prompts(): string[] {
    return Deno.readTextFileSync(`${this.#dir.path}/prompts`).trim().split("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#daemon?.stop();
    this.#dir[Symbol.dispose]();
  }
}

Deno.test("a message that an agent dies over comes again when the same agent is started", async () => {
  await using f = await new Fixture().start();
  const first = f.run(DIES);
  const { peer_id, metadata, backend } = await f.peer("online");
  assert.deepEqual([backend, metadata], [
    "acp",
    { acp_session: "s1", agent: "sh", agent_version: "1" },
  ]);
  const id = await f.notify("Which tables are there?");
  const { code, text } = await f.waitForEnd(first);
  assert.deepEqual([code, text.includes("sh has ended with code 5")], [5, true]);
  await f.peer("offline");
  assert.equal((await f.stages(id)).includes("seen"), false);

  const second = f.run(ANSWERS);
  await until("the proof", async () => (await f.stages(id)).includes("seen"));
  assert.equal((await f.peer("online"))["peer_id"], peer_id);
  second.kill("SIGTERM");
  const end = await f.waitForEnd(second);
  assert.equal(end.code, 143);
  assert.match(end.text, /begins a new session: it cannot load sessions/);
  assert.equal(f.prompts.length, 2);
  assert(f.prompts.every((prompt) => prompt.includes("Which tables are there?")));
});

Deno.test("a program that is no agent is reported, and its exit code is passed on", async () => {
  await using f = await new Fixture().start();
  for (
    const [argv, expected, reason] of [
      [["sh", "-c", "exit 7"], 7, /sh has ended with code 7/],
      [["yes"], 1, /yes: It does not speak JSON-RPC; it wrote, for example: y/],
      [["cat"], 1, /The program is no ACP agent: Method not found: initialize/],
      [["no-such-agent"], 127, /"no-such-agent" is not installed/],
    ] as const
  ) {
    const { code, text } = await f.waitForEnd(f.run("", argv));
    assert.equal(code, expected, argv.join(" "));
    assert.match(text, reason);
  }
});
