/** The commands of `mesh inbox`: lists, items and replies. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { answeringDaemon, PEER } from "../../support/cli/answering_daemon.ts";
import type { InboxItem } from "../../../cli/commands/inbox/items.ts";

const ITEM: InboxItem = {
  item_id: "inb-000000000001",
  kind: "ask",
  from: "api",
  from_peer_id: PEER.peer_id,
  voice: "peer",
  correlation_id: "ask-000000000001",
  text: "Which port?",
  attachments: [],
  question: null,
  read: false,
  read_at: null,
  read_by: null,
  replied: false,
  replied_at: null,
  snoozed_until: null,
  created_at: "2030-01-01T00:00:00.000Z",
  state: "open",
  close_reason: null,
  outcome: null,
  option_id: null,
  responder: null,
  closed_at: null,
  expires_at: null,
  pushes: [],
};
const REPLY = `POST /inbox/${ITEM.item_id}/reply`;

/** A daemon whose inbox has the given items; a handled item leaves the list. */
function inboxFixture(given: readonly InboxItem[] = [ITEM]) {
  const items = [...given];
  const take = (id: string) => {
    items.splice(0, items.length, ...items.filter(({ item_id }) => item_id !== id));
  };
  const answers = given.map((item) => [
    [`GET /inbox/${item.item_id}`, () => item],
    [`POST /inbox/${item.item_id}/reply`, () => {
      take(item.item_id);
      return { action: "answered", correlation_id: item.correlation_id };
    }],
    [`POST /inbox/${item.item_id}/read`, () => (take(item.item_id), { ok: true })],
  ]);
  return answeringDaemon({
    "GET /inbox": () => ({ human: "sam", human_peer_id: "peer-1", items }),
    ...Object.fromEntries(answers.flat()),
  });
}

/** A keyboard that sends these keys. */
function keyboard(...keys: string[]) {
  return async function* () {
    for (const key of keys) yield await Promise.resolve(key);
  };
}

/** An editor that writes the text above what is in the file. */
function editor(dir: string, text: string): string {
  const path = join(dir, "editor");
  const script =
    `#!/bin/sh\nprintf '%s\\n' "${text}" | cat - "$1" > "$1.new" && mv "$1.new" "$1"\n`;
  Deno.writeTextFileSync(path, script, { mode: 0o755 });
  return path;
}

Deno.test("`inbox reply` without a text sends nothing and says how to answer", async () => {
  await using p = inboxFixture();
  const { code, out, err } = await p.mesh(["inbox", "reply", ITEM.item_id]);
  assert.deepEqual([code, out], [2, ""]);
  assert.match(
    err,
    /nothing was sent\. Answer with: mesh inbox reply inb-\w+ TEXT\n.*mesh ack ask-/,
  );
  assert.ok(p.received.every(({ route }) => route.startsWith("GET ")));
});

Deno.test("`inbox reply` without a text opens the editor in a terminal, and sends what it wrote", async () => {
  await using p = inboxFixture();
  const device = { keys: keyboard() };
  const EDITOR = editor(p.dir, "Port 8080\nor 8081");
  const PATH = Deno.env.get("PATH") ?? "";
  const args = ["inbox", "reply", ITEM.item_id];
  assert.equal((await p.mesh(args, device, { EDITOR, PATH })).code, 0);
  const sent = p.received.find(({ route }) => route === REPLY);
  assert.partialDeepStrictEqual(sent?.body, { surface: "cli", text: "Port 8080\nor 8081" });
  const nothing = await p.mesh(args, device, { EDITOR: "true", PATH });
  assert.deepEqual([nothing.code, /nothing was sent/.test(nothing.err)], [2, true]);
});

Deno.test("a second reply is refused unless it is asked for with --again", async () => {
  const replied_at = "2030-01-01T00:01:00.000Z";
  await using p = answeringDaemon({
    [`GET /inbox/${ITEM.item_id}`]: () => ({ ...ITEM, replied: true, replied_at }),
    [REPLY]: () => ({ action: "asked", correlation_id: "ask-000000000002" }),
  });
  const { code, err } = await p.mesh(["inbox", "reply", ITEM.item_id, "More"]);
  assert.equal(code, 1);
  assert.match(err, /was answered at 2030.* would ask api a new question.*--again/);
  assert.equal(p.received.filter(({ route }) => route === REPLY).length, 0);
  assert.equal((await p.mesh(["inbox", "reply", ITEM.item_id, "More", "--again"])).code, 0);
});

const OVER: InboxItem = {
  ...ITEM,
  question: {
    kind: "choice",
    scope: "tool_permission",
    prompt: null,
    options: [{ id: "allow", title: "Allow" }],
  },
  read: true,
  state: "closed",
  close_reason: "cancelled",
  outcome: "denied_there",
  responder: "terminal",
  closed_at: "2030-01-01T00:01:00.000Z",
};
const REFUSED = {
  error: "already_closed",
  detail: "ask-000000000001 is closed: cancelled",
  outcome: "denied_there",
};

Deno.test("an item that is over says how it ended, and not how to answer it", async () => {
  await using p = inboxFixture([OVER]);
  const { out, err } = await p.mesh(["inbox", "show", OVER.item_id]);
  assert.match(out, /closed .*: It was denied in the agent's own terminal\./);
  assert.doesNotMatch(err, /reply/);
  assert.match((await p.mesh(["inbox", "list"])).out, /ask, denied there/);
});

Deno.test("a text to a decision that is over is sent only after the person confirms", async () => {
  await using p = inboxFixture([OVER]);
  const args = ["inbox", "reply", OVER.item_id, "allow"];
  const sent = () => p.received.flatMap(({ route, body }) => route === REPLY ? [body] : []);
  const piped = await p.mesh(args);
  assert.equal(piped.code, 1);
  assert.match(piped.err, /is over: It was denied .* ask api a new question.*--again/);
  const declined = await p.mesh(args, { keys: keyboard("n") });
  assert.match(declined.err, /\[y\/N\]/);
  assert.match(declined.out, /nothing sent/);
  assert.deepEqual(sent(), []);
  assert.equal((await p.mesh(args, { keys: keyboard("y") })).code, 0);
  assert.equal((await p.mesh([...args, "--again"])).code, 0);
  const body = { surface: "cli", text: "allow", as_new_ask: true };
  assert.partialDeepStrictEqual(sent(), [body, body]);
});

Deno.test("an option for a decision that is over is refused by the daemon", async () => {
  await using p = answeringDaemon({
    [`GET /inbox/${ITEM.item_id}`]: () => OVER,
    [REPLY]: () => Response.json(REFUSED, { status: 410 }),
  });
  const args = ["inbox", "reply", ITEM.item_id, "--option", "allow"];
  const { code, err } = await p.mesh(args);
  assert.deepEqual([code, /is closed: cancelled/.test(err)], [1, true]);
  const json = await p.mesh([...args, "--json"]);
  assert.equal(JSON.parse(json.out || json.err).outcome, "denied_there");
});

Deno.test("the inbox and its items say how to answer", async () => {
  await using p = inboxFixture();
  assert.match((await p.mesh(["inbox"])).err, /mesh inbox reply ID TEXT/);
  assert.match((await p.mesh(["inbox", "show", ITEM.item_id])).err, /reply inb-\w+ TEXT/);
  assert.deepEqual(JSON.parse((await p.mesh(["inbox", "--json"])).out).items, [ITEM]);
});

Deno.test("`inbox read --all` marks what is no open ask, and needs no ids", async () => {
  const note = { ...ITEM, item_id: "inb-2", kind: "notify" as const, state: null };
  await using p = inboxFixture([{ ...ITEM, state: "open" }, note]);
  assert.equal((await p.mesh(["inbox", "read"])).code, 2);
  assert.equal((await p.mesh(["inbox", "read", "inb-2", "--all"])).code, 2);
  assert.ok(p.received.every(({ route }) => route.startsWith("GET ")));
  const { code, out } = await p.mesh(["inbox", "read", "--all"]);
  assert.deepEqual([code, out.trim()], [0, "read"]);
  assert.deepEqual(
    p.received.map(({ route }) => route).filter((route) => route.startsWith("POST ")),
    ["POST /inbox/inb-2/read"],
  );
});

Deno.test("`inbox snooze` sends the instant, an hour later without a duration", async () => {
  const path = `POST /inbox/${ITEM.item_id}/snooze`;
  await using p = answeringDaemon({ [path]: () => ({ ok: true }) });
  const untils = async (...flags: string[]) => {
    const before = p.received.length;
    await p.mesh(["inbox", "snooze", ITEM.item_id, ...flags]);
    return (p.received[before]?.body as { until?: string | null } | undefined)?.until;
  };
  const at = Date.parse(await untils() ?? "");
  assert.ok(Date.parse(await untils("--for", "8h") ?? "") - at >= 7 * 3_600_000);
  assert.equal(await untils("--off"), null);
  assert.equal(await untils("--off", "--for", "8h"), undefined);
});
