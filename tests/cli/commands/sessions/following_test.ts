import assert from "node:assert/strict";
import { follow, type NewEntries } from "../../../../cli/commands/sessions/following.ts";
import { SwiftClock } from "../../../support/swift_clock.ts";

const ENTRY = {
  at: null,
  kind: "text",
  tool: null,
  call: null,
  outcome: null,
  chars: 4,
  masked: 0,
} as const;

/** An agent that records texts in a session, and the route that reads them. */
class FakeAgent {
  session_id = "s-1";
  texts: string[] = [];
  /** True while the session has no file. */
  missing = false;
  /** The bytes that a read examines, as a number of entries. */
  looked_at = 1_000;
  wanted = "";

  last({ after = -1 }: { after?: number | undefined }) {
    return this.#read({ last: 1, before: Infinity, after }, "");
  }

  matching(
    { last, before, after = -1 }: { last: number; before: number; after?: number | undefined },
  ) {
    return this.#read({ last, before, after }, this.wanted);
  }

  #read({ last, before, after }: { last: number; before: number; after: number }, wanted: string) {
    if (this.missing) return Promise.resolve(undefined);
    const all = this.texts.map((text, position) => ({ ...ENTRY, text, position }))
      .filter(({ position }) => position > after && position < before);
    const seen = all.slice(-this.looked_at);
    const found = seen.filter(({ text }) => text.includes(wanted)).slice(-last);
    const from = found.length === last ? found[0]?.position : seen[0]?.position;
    const isAll = from === undefined || from === all[0]?.position;
    return Promise.resolve({
      session_id: this.session_id,
      entries: found,
      before: isAll ? null : from,
    });
  }
}

/** Follows an agent; each step changes what it has recorded, and returns what came. */
function startFollowing(agent: FakeAgent, after: number | undefined) {
  const abort = new AbortController();
  const clock = new SwiftClock();
  const came: NewEntries[] = [];
  const reads = {
    last: (query: Parameters<FakeAgent["last"]>[0]) => agent.last(query),
    matching: (query: Parameters<FakeAgent["matching"]>[0]) => agent.matching(query),
  };
  const done = (async () => {
    const from = { session_id: "s-1", after };
    for await (const entry of follow(reads, from, { clock, signal: abort.signal })) {
      came.push(entry);
    }
  })();
  return {
    async step(change: () => void = () => {}) {
      change();
      await clock.advance(1_000);
      return came.splice(0).map(({ entries, left_out_before, new_session }) => ({
        texts: entries.map(({ text }) => text),
        left_out_before,
        new_session,
      }));
    },
    async [Symbol.asyncDispose]() {
      abort.abort();
      await clock.advance(1_000);
      await done;
    },
  };
}

const came = (texts: readonly string[], more: { left?: number; session?: string } = {}) => [{
  texts,
  left_out_before: more.left ?? null,
  new_session: more.session,
}];

Deno.test("entries after the last one are followed until the signal aborts [4.transcript.cli]", async () => {
  const agent = new FakeAgent();
  agent.texts = ["shown"];
  await using at = startFollowing(agent, 0);
  assert.deepEqual(await at.step(), []);
  assert.deepEqual(await at.step(() => agent.texts.push("a", "b")), came(["a", "b"]));
  assert.deepEqual(await at.step(), []);
  assert.deepEqual(await at.step(() => agent.texts.push("c")), came(["c"]));
});

Deno.test("a new session is followed from its beginning, also if its positions are smaller", async () => {
  const agent = new FakeAgent();
  agent.texts = Array.from({ length: 50 }, () => "old");
  await using at = startFollowing(agent, 49);
  assert.deepEqual(await at.step(() => agent.missing = true), [], "it has no file yet");
  const begin = () => {
    Object.assign(agent, { missing: false, session_id: "s-2", texts: ["first", "second"] });
  };
  assert.deepEqual(await at.step(begin), came(["first", "second"], { session: "s-2" }));
  assert.deepEqual(await at.step(() => agent.texts.push("third")), came(["third"]));
});

Deno.test("the route searches new entries, and the search continues after entries that do not match", async () => {
  const agent = new FakeAgent();
  agent.wanted = "port";
  await using at = startFollowing(agent, undefined);
  assert.deepEqual(await at.step(() => agent.texts.push("the port", "other")), came(["the port"]));
  assert.deepEqual(await at.step(() => agent.texts.push("other")), came([]));
  assert.deepEqual(await at.step(() => agent.texts.push("a port")), came(["a port"]));
});

Deno.test("more than one page is shown as a whole, and of more than 10 the rest is named", async () => {
  const agent = new FakeAgent();
  agent.texts = ["shown"];
  await using at = startFollowing(agent, 0);
  const add = (count: number) => () => {
    for (let added = 0; added < count; added++) agent.texts.push(`text ${agent.texts.length}`);
  };
  const [whole] = await at.step(add(450));
  assert.deepEqual([whole?.texts.length, whole?.left_out_before], [450, null]);
  assert.deepEqual([whole?.texts[0], whole?.texts.at(-1)], ["text 1", "text 450"]);
  agent.looked_at = 20;
  const [part] = await at.step(add(201));
  assert.deepEqual([part?.texts.length, part?.left_out_before], [200, 452]);
});
