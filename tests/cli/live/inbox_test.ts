/** `mesh inbox` on a terminal: the live view of the items that wait for the human. */

import assert from "node:assert/strict";
import { listAsks, openAsk } from "protocol/asks/contract.ts";
import { askBlocking } from "protocol/asks/questions.ts";
import { liveSession } from "../../support/cli/live_session.ts";
import { addPeer, ask, notify } from "../../support/daemon/peer_clients.ts";
import type { World } from "../../support/world.ts";

const ENTER = "\r", ESCAPE = "\u001b";
const CHOICE = {
  kind: "choice" as const,
  options: [{ id: "now", title: "Run it now" }, { id: "no", title: "Do not run it" }],
};

/** `mesh inbox`, once these items are there. */
function inbox(prepare: (w: World) => Promise<unknown>, env: Record<string, string> = {}) {
  return liveSession({}, env, { args: ["inbox"], prepare });
}

async function asked(w: World, text: string) {
  await addPeer(w, "api");
  return await ask(w, "api", "sam", text);
}

async function replies(w: World) {
  const { asks } = await w.call(listAsks, { query: {} });
  return asks.map(({ reply, answer }) => answer?.option_id ?? reply);
}

Deno.test("a answers in the inbox itself, which ends when nothing waits any more", async () => {
  await using live = inbox((w) => asked(w, "Ship it?"));
  await live.shows(/ask +api +Ship it\?/);
  assert.doesNotMatch(live.fake.text, /Peers|Feed/);
  live.type("a", "Y", "e", "s", ENTER);
  assert.equal(await live.ended, 0);
  assert.match(live.fake.written, /Nothing waits for you\.\n$/);
  assert.deepEqual(await replies(live.w), ["Yes"]);
});

Deno.test("e answers in the editor, and the text is shown before it is sent", async () => {
  const dir = Deno.makeTempDirSync();
  const VISUAL = `${dir}/editor`;
  Deno.writeTextFileSync(VISUAL, `#!/bin/sh\nprintf 'From the editor' > "$1"\n`, { mode: 0o755 });
  const env = { VISUAL, EDITOR: "/none", PATH: Deno.env.get("PATH") ?? "" };
  await using live = inbox((w) => asked(w, "Ship it?"), env);
  await live.shows(/ask +api/);
  live.type("e");
  await live.shows(/Answer api[^]*> From the editor/);
  live.type(ENTER);
  assert.equal(await live.ended, 0);
  assert.deepEqual(await replies(live.w), ["From the editor"]);
  Deno.removeSync(dir, { recursive: true });
});

Deno.test("l puts an item off, s marks one as read, and q leaves the others waiting", async () => {
  await using live = inbox(async (w) => {
    await asked(w, "Ship it?");
    await notify(w, "web", "sam", "All is well");
  });
  await live.shows(/▸ .*ask +api[^]*note +web/);
  live.type("l");
  await live.shows(/▸ .*note +web[^]*ask +api/);
  live.type("s");
  await live.shows(/Attention 1 /);
  live.type("s");
  await live.shows(/stays until it is answered: a answers, l leaves it for later/);
  live.type(ENTER);
  await live.shows(/To you inb-/);
  live.type("q");
  assert.equal(await live.ended, 0);
  assert.match(live.fake.written, /1 wait for you\.\n$/);
});

Deno.test("a digit chooses an option in the inbox, Tab and / stay in it, and Escape ends it", async () => {
  await using live = inbox(async (w) => {
    await asked(w, "Ship it?");
    const body = { from_peer: "api", to_peer: "sam", text: "Run it?", question: CHOICE };
    await w.call(openAsk, { body });
  });
  await live.shows(/▸ .*\[2 options\] Run it\?/);
  live.type("\t", "/", "2");
  await live.shows(/Answered api: no/);
  await live.shows(/▸ .*Ship it\?/);
  assert.doesNotMatch(live.fake.text, /Search/);
  live.type("?");
  await live.shows(/Keys\n[^]*e +writes the answer[^]*q, Ctrl-C +quit/);
  live.type(ESCAPE, ESCAPE);
  assert.equal(await live.ended, 0);
  assert.deepEqual((await replies(live.w)).sort(), ["no", null].sort());
});

Deno.test("an empty inbox is shown as the plain list", async () => {
  await using live = inbox(() => Promise.resolve());
  assert.equal(await live.ended, 0);
  assert.match(live.fake.written, /Your inbox is empty\./);
});

/** A question for the permission to write a file, from a program that waits for the answer. */
function permission(w: World, content: string) {
  void w.call(askBlocking, {
    body: {
      from_peer: "api",
      prompt: "May I write?",
      scope: "tool_permission",
      options: [{ id: "allow", title: "Allow" }, { id: "deny", title: "Deny" }],
      timeout_seconds: 60,
      metadata: { tool: "Write", tool_input: { file_path: "b.js", content } },
    },
  });
  return w.clock.settle();
}

Deno.test("a permission shows its act, and 1 allows it only after all of it was shown", async () => {
  await using live = inbox(async (w) => {
    await addPeer(w, "api");
    await permission(w, "two\n");
    await permission(w, "one\u202e\n".repeat(60));
  });
  await live.shows(/Write b\.js, \+60 lines[^]*Write b\.js, \+1 line/);
  live.type("1");
  await live.shows(/b\.js {2}\+60[^]*1 \+ one⟨U\+202E⟩/);
  live.type("1");
  await live.shows(/Read all of it first/);
  live.type("\u001b[F", "1");
  await live.shows(/Answered api: allow/);
  await live.shows(/Attention 1 [^]*▸ .*\+1 line/);
  live.type("3");
  await live.shows(/Why api may not do it/);
  live.type(..."Not now", ENTER);
  assert.equal(await live.ended, 0);
  const { asks } = await live.w.call(listAsks, { query: {} });
  assert.deepEqual(asks.map(({ answer }) => [answer?.option_id, answer?.message]), [
    ["allow", null],
    ["deny", "Not now"],
  ]);
});
