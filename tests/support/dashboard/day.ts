/** A mesh after a day of work: nineteen agents, their talk, and what waits for the person. */

import { DatabaseSync } from "node:sqlite";
import { notifyPeer } from "protocol/notifications.ts";
import { registerPeer } from "protocol/peers/contract.ts";
import { TestRepository } from "../repositories/repository.ts";
import { readRecording } from "../sessions/recorded_sessions.ts";
import { PaneLab } from "./pane_lab.ts";
import { askPermission, GATED } from "./permissions.ts";
import { seed } from "./seeded_mesh.ts";
import type { SocketPeer } from "./socket_peer.ts";
import { PRICES, useTokens } from "./used_tokens.ts";

const WEEK_MS = 7 * 86_400_000;
const SESSION = "33333333-2222-4333-8444-555555555555";
/** Sent a week ago; other messages of today are about ports, too. */
export const LAST_WEEK = "The port of staging is 7443 from today on.";
/** Sent to a peer that is offline. */
export const UNREAD = "Keep the backups of this week.";
/** The folder of the agent that asks for a permission. */
export const PUSHED_FROM = "/home/sam/work/shop/api";

export class Day implements AsyncDisposable {
  readonly panes: PaneLab;
  /** An agent that works on the wrong thing. */
  readonly runner: SocketPeer;
  /** By their names. */
  readonly peers: ReadonlyMap<string, SocketPeer>;
  readonly permission: Awaited<ReturnType<typeof askPermission>>;
  readonly #stack: AsyncDisposableStack;

  private constructor(
    fields: Pick<Day, "panes" | "runner" | "peers" | "permission"> & {
      readonly stack: AsyncDisposableStack;
    },
  ) {
    this.panes = fields.panes;
    this.runner = fields.runner;
    this.peers = fields.peers;
    this.permission = fields.permission;
    this.#stack = fields.stack;
  }

  get lab() {
    return this.panes.dashboard;
  }

  /** Undefined without Chromium. */
  static async start(): Promise<Day | undefined> {
    await using stack = new AsyncDisposableStack();
    const panes = await PaneLab.start({ ...GATED, ...PRICES });
    if (!panes) return undefined;
    stack.use(panes);
    const lab = panes.dashboard;
    await sendLastWeek(panes);
    const peers = await seed(lab);
    const backup = peers.get("backup")?.peer_id ?? "";
    await useTokens(lab);
    await lab.call(notifyPeer, { body: { from_peer: "boss", to_peer: backup, text: UNREAD } });
    const runner = await lab.peer({
      name: "runner",
      backend: "acp",
      circle: "shop",
      interrupts: true,
    });
    runner.send({ type: "status", status: "busy", turn_state: "working" });
    const repo = stack.use(new TestRepository());
    await addPainter(panes, repo);
    const permission = await askPermission(lab, "Bash", { command: "git push" }, PUSHED_FROM);
    return new Day({ panes, runner, peers, permission, stack: stack.move() });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/** Sends the first message, and moves it into the last week. */
async function sendLastWeek({ dashboard: lab }: PaneLab): Promise<void> {
  const [release, store] = [
    await lab.peer({ name: "release", circle: "ops" }),
    await lab.peer({ name: "store", circle: "ops" }),
  ];
  await release.request("notify", { to_peer: store.peer_id, text: LAST_WEEK });
  using db = new DatabaseSync(`${lab.state}/mesh.db`, { timeout: 5_000 });
  const times = ["created_at", "attempted_at", "sent_at", "accepted_at", "seen_at"];
  const moved = times.map((column) => `${column} = ${column} - ${WEEK_MS}`).join(", ");
  db.exec(`update messages set ${moved}`);
}

/** Adds a Claude Code with a recorded session, in a repository where it changed a file. */
async function addPainter({ dashboard: lab }: PaneLab, repo: TestRepository): Promise<void> {
  repo.write("src/theme.css", "a { color: black }\n");
  repo.commit();
  repo.write("src/theme.css", "a { color: navy }\nb { color: teal }\n");
  const folder = `${lab.state}/.claude/projects/-home-sam-api`;
  Deno.mkdirSync(folder, { recursive: true });
  Deno.writeTextFileSync(`${folder}/${SESSION}.jsonl`, readRecording("claude_code.jsonl"));
  await lab.call(registerPeer, {
    body: {
      name: "painter",
      path: repo.folder,
      circle: "shop",
      backend: "claude-code",
      runtime_session_id: SESSION,
    },
  });
}
