/** Two Claude Code agents with session files, whose requests a test records. */

import { claudeCodeHooks } from "../../../daemon/features/agents/hooks/claude_format.ts";
import { claudeSessionFiles } from "../../../daemon/features/agents/claude_code/session_files.ts";
import { codexSessionFiles } from "../../../daemon/features/agents/codex/session_files.ts";
import { addPeer, reportSessions } from "../daemon/peer_clients.ts";
import { FakeSockets, type World, world } from "../world.ts";
import { SessionsFolder } from "./recorded_sessions.ts";

export const API = "11111111-2222-4333-8444-555555555555";
export const WEB = "22222222-2222-4333-8444-555555555555";
/** The headers of a person at a terminal. */
export const TERMINAL = { "x-mesh-terminal": "77" };

interface Answer {
  readonly model?: string;
  readonly input?: number;
  readonly read?: number;
  readonly write?: number;
  readonly output?: number;
  /** Milliseconds before now. */
  readonly ago?: number;
}

function answerLine(id: string, now: number, answer: Answer): string {
  const { model = "opus-5", input = 100, read = 0, write = 0, output = 10, ago = 0 } = answer;
  const usage = {
    input_tokens: input,
    output_tokens: output,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: write,
  };
  const timestamp = new Date(now - ago).toISOString();
  return JSON.stringify({ type: "assistant", timestamp, message: { id, model, usage } });
}

/** The Claude Code agents api and web in the circle main, and a person at a terminal. */
export async function usageWorld(
  { human = true, settings = {} }: {
    human?: boolean;
    settings?: Readonly<Record<string, string>>;
  } = {},
) {
  const folder = new SessionsFolder();
  const sockets = new FakeSockets();
  sockets.holders = human ? [77] : [];
  const w = world({
    hooks: { "claude-code": claudeCodeHooks },
    settings: { "human.name": "sam", ...settings },
    sessionFiles: {
      "claude-code": claudeSessionFiles([folder.path]),
      codex: codexSessionFiles(folder.path),
    },
    at_terminal: human,
    sockets,
  });
  for (const pid of [41, 42]) w.processes.start(pid);
  const more = { backend: "claude-code", circle: "main" };
  await addPeer(w, "api", { ...more, runtime_session_id: API, agent_pid: 41 });
  await addPeer(w, "web", { ...more, runtime_session_id: WEB, agent_pid: 42 });
  reportSessions(w);
  let answers = 0;
  return {
    w,
    folder,
    sockets,
    file: (session: string) => `${folder.path}/projects/p/${session}.jsonl`,
    /** The agent records an answer of its model. */
    answers(session: string, answer: Answer = {}): void {
      const line = answerLine(`msg_${++answers}`, w.clock.now(), answer);
      const path = `projects/p/${session}.jsonl`;
      const before = Array.from(readIfThere(`${folder.path}/${path}`));
      folder.write(path, `${before.join("")}${line}\n`);
    },
    async report(query: string, headers: Record<string, string> = TERMINAL) {
      const response = await w.fetch(`/usage?${query}`, { headers });
      return { status: response.status, ...await response.json() };
    },
    async [Symbol.asyncDispose]() {
      await w[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

function* readIfThere(path: string): Generator<string> {
  try {
    yield Deno.readTextFileSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** The agent begins a turn with this prompt, at a later time. */
export async function prompt(w: World, peer: string, text: string): Promise<void> {
  await w.clock.advance(1_000);
  await w.post(`/peers/${peer}/turn`, { turn_state: "working", prompt: text });
  await w.clock.advance(1_000);
}

/** The frame of an ask, as it stands in a prompt. */
export const framed = (id: string) =>
  `[mesh] <peer-message type="ask" id="${id}" from="@x">t</peer-message>`;
