/** Real Gemini CLI in a private tmux: it registers, is asked, answers, and is taken up again. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { client } from "kit/client.ts";
import { readBeacon } from "../../cli/daemon_client.ts";
import { resumeOf } from "../../daemon/agents/gemini/sessions.ts";
import { getAsk, openAsk } from "../../daemon/asks/contract.ts";
import { readConfig } from "../../daemon/config.ts";
import { getTrace } from "../../daemon/delivery/contract.ts";
import { listPeers } from "../../daemon/peers/contract.ts";
import { readTextOrNothing } from "../../daemon/places.ts";
import { cacheDir, Lab, run, withLab } from "./lab.ts";
import { compose, submit } from "./typing.ts";
import { until } from "./waiting.ts";
import { GeminiWire } from "./wires/gemini.ts";

const GEMINI = { name: "@google/gemini-cli", version: "0.61.0" } as const;
/** What a user who has been through the first start has in the settings. */
const SETTINGS = {
  security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  general: { enableAutoUpdate: false },
  ide: { hasSeenNudge: true },
};

/** The program, installed when it is missing; or why it cannot be. */
function geminiCli(): { bin: string } | { reason: string } {
  const { name, version } = GEMINI;
  const dir = join(cacheDir(), `gemini-${version}`);
  const bin = join(dir, "node_modules", ".bin", "gemini");
  const works = () => run(bin, ["--version"]).includes(version);
  if (works()) return { bin };
  Deno.mkdirSync(dir, { recursive: true });
  run("npm", ["install", "--prefix", dir, "--no-audit", "--no-fund", `${name}@${version}`]);
  return works() ? { bin } : { reason: `${name}@${version} cannot be installed with npm` };
}

/** One Gemini CLI that `mesh setup` was run for, and a daemon. */
class Office implements AsyncDisposable {
  readonly lab = new Lab({ bare: true });
  readonly wire = new GeminiWire();
  readonly #bin: string;
  #daemon: Deno.ChildProcess | undefined;
  #pane = "";

  constructor(bin: string) {
    this.#bin = bin;
    this.lab.write("home/.gemini/settings.json", SETTINGS);
    Deno.mkdirSync(`${this.lab.dir}/home/.config/mesh`, { recursive: true });
    Deno.writeTextFileSync(`${this.lab.dir}/home/.config/mesh/config.yaml`, "daemon: {port: 0}\n");
  }

  async up(): Promise<void> {
    assert((await this.lab.mesh("setup", "--agent", "gemini").status).success, "mesh setup");
    this.#daemon = this.lab.mesh("daemon");
    await until("the daemon", () => readBeacon(this.lab.env)?.url);
  }

  /** Starts it in a window of its own and waits until its hook has registered it. */
  async start(...words: string[]) {
    const env = {
      ...this.lab.env,
      PATH: `${dirname(this.#bin)}:${this.lab.env["PATH"]}`,
      GEMINI_API_KEY: "dummy",
      GOOGLE_GEMINI_BASE_URL: this.wire.url,
    };
    const named = Object.entries(env).map((pair) => pair.join("="));
    const pane = `exec env -i TERM="$TERM" TMUX="$TMUX" TMUX_PANE="$TMUX_PANE" "$@"`;
    const agent = ["gemini", "-m", "gemini-2.5-flash", ...words];
    const command = ["-c", this.path, "--", "sh", "-c", pane, "sh", ...named, ...agent];
    const size = ["-d", "-x", "160", "-y", "50"];
    this.#pane = this.lab.cli("new-session", ...size, "-P", "-F", "#{pane_id}", ...command);
    await until("an empty composer", () => this.screen.includes("Type your message"), 40_000);
    return await until("the peer", async () => {
      const { peers } = await this.call(listPeers, { query: {} });
      return peers.find(({ backend, status, pane_id }) =>
        backend === "gemini" && status === "online" && pane_id === this.#pane
      );
    }, 40_000);
  }

  get path(): string {
    return `${this.lab.dir}/api`;
  }

  get screen(): string {
    return this.lab.cli("capture-pane", "-p", "-t", this.#pane);
  }

  /** What stands behind the prompt sign below the lowest rule; nothing where a dialog does. */
  get composer(): string {
    const below = this.screen.split(/^─{20,}$/m).at(-1) ?? "";
    return /^ > ([^]*)$/m.exec(below)?.[1] ?? "";
  }

  keys(...keys: string[]): void {
    this.lab.cli("send-keys", "-t", this.#pane, ...keys);
  }

  get call() {
    const beacon = readBeacon(this.lab.env);
    assert(beacon, "a daemon is up");
    const token = readConfig(this.lab.env, readTextOrNothing)["daemon.auth_token"]?.reveal() ?? "";
    return client(beacon.url, fetch, { authorization: `Bearer ${token}` });
  }

  async ask(to_peer: string, text: string): Promise<string> {
    const { correlation_id } = await this.call(openAsk, {
      body: { from_peer: "cli", to_peer, text },
    });
    return correlation_id ?? "";
  }

  /** The answer, once there is one; and the stages that lead to it. */
  async answer(id: string) {
    const { reply, responder } = await until("the answer", async () => {
      const ask = await this.call(getAsk, { params: { id } });
      return ask.state === "closed" && ask;
    });
    const { stages } = await this.call(getTrace, { params: { trace_id: id } });
    return { reply, responder, stages: stages.map(({ stage }) => stage) };
  }

  async turn(turn_state: string): Promise<void> {
    await until(`to be ${turn_state}`, async () => {
      const { peers } = await this.call(listPeers, { query: {} });
      return peers.some((peer) => peer.backend === "gemini" && peer.turn_state === turn_state);
    });
  }

  async waits(id: string, reason: string): Promise<void> {
    await until(`to wait: ${reason}`, async () => {
      const { stages } = await this.call(getTrace, { params: { trace_id: id } });
      return JSON.stringify(stages).includes(reason);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab.endAgents();
    this.#daemon?.kill("SIGTERM");
    await this.#daemon?.status;
    await this.wire[Symbol.asyncDispose]();
    await this.lab[Symbol.asyncDispose]();
  }
}

function withGemini(name: string, test: (office: Office) => Promise<void>): void {
  const installed = geminiCli();
  if ("reason" in installed) {
    return Deno.test(`${name} (skipped: ${installed.reason})`, { ignore: true }, () => undefined);
  }
  withLab(import.meta.url, name, async () => {
    await using office = new Office(installed.bin);
    await office.up();
    await test(office);
  });
}

withGemini("an idle Gemini CLI is asked in its pane, and answers by its tool", async (office) => {
  const peer = await office.start();
  assert.equal(peer.transport, "pane");
  const id = await office.ask(peer.peer_id, "Which port?");
  const { reply, responder, stages } = await office.answer(id);
  assert.deepEqual([reply, responder], ["Port 8080", peer.name]);
  for (const stage of ["attempting", "sent", "seen"] as const) {
    assert(stages.includes(stage), stage);
  }
  const { peers } = await office.call(listPeers, { query: {} });
  assert.equal(peers.find(({ backend }) => backend === "gemini")?.model, "gemini-2.5-flash");
});

withGemini("a draft and a dialog of Gemini CLI are left alone", async (office) => {
  const peer = await office.start();
  await compose(office, "half a thought");
  const first = await office.ask(peer.peer_id, "Which port?");
  await office.waits(first, "draft_present");
  assert(office.screen.includes("> half a thought"));
  office.keys("C-u");
  assert.equal((await office.answer(first)).reply, "Port 8080");
  await until("the end of the turn", () => office.screen.includes("DONE 1"));
  const file = `${office.path}/made.txt`;
  for (const mark of ["one", "two"]) {
    await submit(office, `${mark} @@TOOL run_shell_command {"command":"touch ${file}"}`);
    await until("the dialog", () => office.screen.includes("Allow execution of"));
    await office.turn("awaiting_input");
    if (mark === "two") break;
    office.keys("Escape"); // No hook tells of this.
    await office.turn("idle");
  }
  const second = await office.ask(peer.peer_id, "Which host?");
  await office.waits(second, "dialog_open");
  assert.throws(() => Deno.statSync(file), Deno.errors.NotFound);
  office.keys("Escape");
  assert.equal((await office.answer(second)).reply, "Port 8080");
  assert.throws(() => Deno.statSync(file), Deno.errors.NotFound);
});

withGemini("a session of Gemini CLI is taken up again under its id", async (office) => {
  const peer = await office.start();
  await office.answer(await office.ask(peer.peer_id, "Which port?"));
  const chats = `${office.lab.dir}/home/.gemini/tmp/api/chats`;
  const [file] = Array.from(Deno.readDirSync(chats), ({ name }) => name);
  const [head = "{}"] = Deno.readTextFileSync(join(chats, file ?? "")).split("\n");
  const session = { runtime_session_id: JSON.parse(head).sessionId, path: office.path };
  office.lab.cli("kill-pane", "-t", peer.pane_id ?? "");
  const resumed = resumeOf(`${office.lab.dir}/home/.gemini`, session);
  assert(resumed.ok);
  const again = await office.start(...resumed.args);
  assert.equal(again.peer_id, peer.peer_id);
});
