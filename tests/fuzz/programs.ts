/** Whole programs: `mesh hook` with hostile standard input, and the chat surface with updates. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { meshCommand } from "../support/programs/program.ts";
import { surfaceFixture } from "../support/telegram/surface_fixture.ts";
import { CHAT } from "../support/telegram/fake_bot_api.ts";
import { damagedRecord, damagedText, hostileJson, hostileText } from "./hostile.ts";
import type { Count, OpenTarget, Target } from "./target.ts";

const PAYLOAD = '{"session_id":"s-1","hook_event_name":"Stop","cwd":"/work","prompt":"Hi"}';
const AGENTS = ["claude-code", "codex", "gemini", "copilot", "opencode", "nobody", ""];
const EVENTS = ["Stop", "Wake", "agentStop", "preToolUse", "x".repeat(300), ""];
/** A hook has 1.5 seconds; the start of a process on a busy machine takes as long. */
const HOOK_MS_MAX = 10_000;

/** Whatever it reads, it exits with 0: any other code would block an agent's prompts. */
export const HOOK_PROGRAM: Target = {
  name: "mesh hook",
  inputs: 6,
  open(count) {
    const state = Deno.makeTempDirSync({ prefix: "mesh-fuzz-" });
    const input = fc.oneof(damagedText([PAYLOAD]), hostileJson.map((json) => JSON.stringify(json)));
    const property = fc.asyncProperty(
      fc.constantFrom(...AGENTS),
      fc.constantFrom(...EVENTS),
      input,
      async (agent, event, text) => {
        count(`mesh hook ${agent}`);
        const { code, stdout, ms } = await runHook([agent, event], text, state);
        assert.equal(code, 0);
        assert.ok(stdout === "" || JSON.parse(stdout) !== null, stdout);
        assert.ok(ms < HOOK_MS_MAX, `It took ${ms} ms`);
      },
    );
    const remove = () => Promise.resolve(Deno.removeSync(state, { recursive: true }));
    return Promise.resolve({ property, [Symbol.asyncDispose]: remove });
  },
};

async function runHook(args: readonly string[], text: string, state: string) {
  const began = performance.now();
  const [program = "", ...rest] = meshCommand(["hook", ...args]);
  const child = new Deno.Command(program, {
    args: rest,
    env: { MESH_STATE: state, MESH_CONFIG: "/none", NO_COLOR: "1" },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  // A program that has ended reads nothing.
  await writer.write(new TextEncoder().encode(text)).catch(() => undefined);
  await writer.close().catch(() => undefined);
  const { code, stdout } = await child.output();
  return { code, stdout: new TextDecoder().decode(stdout), ms: performance.now() - began };
}

/** Updates of Telegram that are damaged: the surface goes on, and answers the next message. */
export const CHAT_UPDATES: Target = {
  name: "chat updates",
  inputs: 80,
  async open(count: Count): Promise<OpenTarget> {
    const at = await surfaceFixture();
    const message = { message_id: 5, date: 1, chat: { id: CHAT, type: "private" }, text: "/inbox" };
    const tap = { id: "1", data: "a:1:inb-1", message };
    const text = fc.oneof(fc.constantFrom("/show inb-1", "/read", "k:x"), hostileText);
    const media = ["photo", "document", "voice", "caption", "media_group_id"];
    const update = fc.oneof(
      damagedRecord(message, ["reply_to_message", ...media], fc.oneof(text, hostileJson))
        .map((damaged) => ({ message: damaged })),
      damagedRecord(tap, ["from"], fc.oneof(text, hostileJson))
        .map((damaged) => ({ callback_query: damaged })),
      hostileJson.map((json) => ({ message: json })),
    );
    const property = fc.asyncProperty(fc.array(update, { maxLength: 5 }), async (updates) => {
      for (const received of updates) {
        count("chat update");
        at.bot.update(received);
      }
      await at.settle();
      await at.advance(60_000);
    });
    return {
      property,
      async verify() {
        const before = at.bot.sentMessages.length;
        at.bot.write("/help");
        await at.settle();
        assert.ok(at.bot.sentMessages.length > before, "The surface no longer answers");
      },
      [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
    };
  },
};
