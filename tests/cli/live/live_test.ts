/** The live view against a daemon: what appears by itself, and what keys do to the mesh. */

import assert from "node:assert/strict";
import { listAsks } from "protocol/asks/contract.ts";
import { listMessages } from "protocol/messages/log.ts";
import { liveSession } from "../../support/cli/live_session.ts";
import { addPeer, ask, connectPeer, notify } from "../../support/daemon/peer_clients.ts";

const ENTER = "\r", ESCAPE = "\u001b";

async function latest(w: ReturnType<typeof liveSession>["w"]) {
  const { messages } = await w.call(listMessages, { query: { limit: "1" } });
  return messages[0];
}

Deno.test("peers, messages and waiting items appear by themselves", async () => {
  await using live = liveSession();
  const { w } = live;
  await live.shows(/No peers yet/);
  await connectPeer(w, "api");
  await live.shows(/api +online +websocket/);
  await addPeer(w, "web");
  await notify(w, "web", "api", "The port is 8080");
  await live.shows(/web +tells +api +The port is 8080/);
  await ask(w, "api", "sam", "Ship it?");
  await live.shows(/ask +api +Ship it\?/);
  await live.shows(/1 for you +you are sam/);
});

Deno.test("an ask is answered in place, as the human, and leaves the list", async () => {
  await using live = liveSession();
  const { w } = live;
  await addPeer(w, "api");
  const id = await ask(w, "api", "sam", "Ship it?");
  await live.shows(/ask +api +Ship it\?/);
  live.type("a", "Y", "e", "s", ENTER);
  await live.shows(/Answered api/);
  await live.shows(/Nothing waits for you/);
  const { asks } = await w.call(listAsks, { query: {} });
  const found = asks.find(({ correlation_id }) => correlation_id === id);
  assert.deepEqual([found?.reply, found?.reply_voice], ["Yes", "human"]);
});

Deno.test("asks and notifications are sent as the human", async () => {
  await using live = liveSession();
  const { w } = live;
  await addPeer(w, "api");
  await live.shows(/api/);
  live.type("2", "n", "H", "i", ENTER);
  await live.shows(/Notified api/);
  assert.partialDeepStrictEqual(await latest(w), {
    text: "Hi",
    from_peer_name: "sam",
    voice: "human",
  });
  live.type("c", "\u001b[200~Which\rport?\u001b[201~", ENTER);
  await live.shows(/Asked api/);
  assert.partialDeepStrictEqual(await latest(w), { kind: "ask", text: "Which\nport?" });
});

Deno.test("a refused text stays in the field, with the reason and what to do", async () => {
  await using live = liveSession({ settings: { "daemon.limits.pair_per_minute": "1" } });
  const { w } = live;
  await addPeer(w, "api");
  await live.shows(/api/);
  live.type("2", "n", "1", ENTER);
  await live.shows(/Notified api/);
  live.type("n", "a", "g", "a", "i", "n", ENTER);
  await live.shows(/Error: /);
  await live.shows(/Notify api[^]*> again/);
});

Deno.test("a message opens with its trace, a peer with its evidence", async () => {
  await using live = liveSession();
  const { w } = live;
  await addPeer(w, "api");
  await notify(w, "web", "api", "The port is 8080");
  await live.shows(/8080/);
  live.type("3", ENTER);
  await live.shows(/What happened[^]*web notified api[^]*Now: it is queued for api/);
  live.type(ESCAPE);
  live.type("2", ENTER);
  await live.shows(/EVIDENCE/);
});

Deno.test("a search shows its results until Escape ends it", async () => {
  await using live = liveSession();
  const { w } = live;
  await addPeer(w, "api");
  await notify(w, "web", "api", "The port is 8080");
  await notify(w, "web", "api", "Something else");
  await live.shows(/Something else/);
  await w.tick(2);
  live.type("/", "p", "o", "r", "t", ENTER);
  await live.shows(/Search: port, 1 found/);
  assert.doesNotMatch(live.fake.text, /Something else/);
  live.type(ESCAPE);
  await live.shows(/Something else/);
});

Deno.test("a kill says what is lost, and why it is refused", async () => {
  await using live = liveSession();
  const { w } = live;
  await addPeer(w, "api");
  await ask(w, "web", "api", "Which port?");
  await live.shows(/Which port/);
  live.type("2", "x");
  await live.shows(/Kill api\?[^]*1 open ask to it is closed unanswered[^]*web, .*Which port\?/);
  live.type("y");
  await live.shows(/Error: /);
});

Deno.test("i asks first, and then says why nothing was stopped", async () => {
  await using live = liveSession();
  const { w } = live;
  const { peer_id } = await addPeer(w, "api");
  await w.post(`/peers/${peer_id}/turn`, { turn_state: "working", status: "busy" });
  await live.shows(/api/);
  live.type("2", "i");
  await live.shows(/Stop api\?/);
  live.type("y");
  await live.shows(/Error: api was not interrupted: mesh knows no way/);
});

Deno.test("the footer reports a missing pane, and the view continues", async () => {
  await using live = liveSession();
  await addPeer(live.w, "api");
  await live.shows(/api/);
  live.type("2", "g");
  await live.shows(/Error: api has no pane/);
});

Deno.test("hostile names and texts reach the terminal without their control characters", async () => {
  await using live = liveSession();
  const { w } = live;
  await addPeer(w, "api");
  const text = "\u001b]0;owned\u0007\u001b[2Jgone\u202e\u200b";
  await ask(w, "evil", "sam", text);
  await notify(w, "evil", "api", text);
  await live.shows(/Attention 1[^]*ask +evil[^]*gone/);
  live.type(ENTER);
  await live.shows(/What happened/);
  // deno-lint-ignore no-control-regex -- It matches escape sequences.
  const known = /\u001b\[(?:\?\d+[hl]|\d+;\d+H|H|2[JK])/g;
  assert.doesNotMatch(live.fake.written.replaceAll(known, ""), /(?!\n)\p{Cc}|[\u202e\u200b]/u);
});

Deno.test("a text from the editor is shown before it is sent", async () => {
  const dir = Deno.makeTempDirSync();
  const editor = `${dir}/editor`;
  const script = `#!/bin/sh\nprintf 'From the editor' > "$1"\n`;
  Deno.writeTextFileSync(editor, script, { mode: 0o755 });
  await using live = liveSession({}, { EDITOR: editor, PATH: Deno.env.get("PATH") ?? "" });
  await addPeer(live.w, "api");
  await live.shows(/api/);
  live.type("2", "e");
  await live.shows(/Ask api[^]*> From the editor/);
  live.type(ENTER);
  await live.shows(/Asked api/);
  Deno.removeSync(dir, { recursive: true });
});

Deno.test("quitting restores the terminal and prints unsent drafts", async () => {
  await using live = liveSession();
  await addPeer(live.w, "api");
  await live.shows(/api/);
  live.type("2", "c", "H", "i", ESCAPE, "q");
  assert.equal(await live.ended, 0);
  const { fake } = live;
  assert.deepEqual([fake.isAlternate, fake.isRaw, fake.isCursorShown, fake.listenerCount], [
    ...[false, false, true, 0],
  ]);
  assert.match(fake.written, /Not sent to api:\n {2}Hi\n$/);
});
