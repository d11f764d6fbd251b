/** The message log over random sends, deletions and restarts, checked against a model. */

import assert from "node:assert/strict";
import fc from "fast-check";
import * as z from "zod";
import { FakeClock } from "../../../../support/clock.ts";
import { countingIds } from "../../../../support/ids.ts";
import { FakeProcesses, type World, world } from "../../../../support/world.ts";
import { ask, connectPeer, get, notify, post } from "../../../../support/daemon/peer_clients.ts";

const SETTINGS = {
  "human.name": "sam",
  "daemon.history_days": "1",
  "daemon.ask_ttl_hours": "8760",
  "daemon.queue.max_per_peer": "100000",
};

const Count = z.object({ n: z.number() });
const Seq = z.object({ seq: z.number() });

interface LogEntry {
  message_id: string;
  kind: string;
  text: string;
  reply: string | null;
}

/** A daemon that restarts, and a model of the messages that it must remember. */
class MessagesStorm implements AsyncDisposable {
  readonly #directory = Deno.makeTempDirSync();
  readonly #shared = { clock: new FakeClock(), ids: countingIds(), processes: new FakeProcesses() };
  readonly open = new Set<string>();
  #textCount = 0;
  w: World = this.#start();

  #start(): World {
    return world({ ...this.#shared, db_path: `${this.#directory}/mesh.db`, settings: SETTINGS });
  }

  nextText(): string {
    return `plum${++this.#textCount}`;
  }

  async restart(): Promise<void> {
    await this.w[Symbol.asyncDispose]();
    this.w = this.#start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.w[Symbol.asyncDispose]();
    Deno.removeSync(this.#directory, { recursive: true });
  }
}

async function asks(
  storm: MessagesStorm,
  from: string,
  more: Record<string, unknown>,
): Promise<void> {
  storm.open.add(await ask(storm.w, from, "bob", storm.nextText(), more));
}

const STEPS: Record<string, (storm: MessagesStorm) => unknown> = {
  note: (storm) => notify(storm.w, "ada", "bob", storm.nextText()),
  human: (storm) => notify(storm.w, "ada", "sam", storm.nextText()),
  ask: (storm) => asks(storm, "ada", {}),
  pull: (storm) => asks(storm, "ada", { reply_delivery: "pull" }),
  stranger: (storm) => asks(storm, "nobody", {}),
  connect: ({ w }) => connectPeer(w, "bob"),
  async reply(storm) {
    const [correlation_id] = storm.open;
    if (!correlation_id) return;
    storm.open.delete(correlation_id);
    await post(storm.w, "/ack", { correlation_id, message: storm.nextText() });
  },
  second: ({ w }) => w.tick(),
  day: ({ w }) => w.tick(90_000),
  restart: (storm) => storm.restart(),
};

/** All messages, read in small pages. */
async function listAll(w: World): Promise<LogEntry[]> {
  const messages: LogEntry[] = [];
  for (let next: string | null = ""; next !== null;) {
    const page = await get(w, `/messages?limit=7${next && `&cursor=${next}`}`);
    messages.push(...page.messages);
    next = page.next;
  }
  return messages;
}

async function check({ w, open }: MessagesStorm): Promise<void> {
  for (let ticks = 0; ticks < 3; ticks++) await w.tick();
  const { db } = w.daemon.ctx;
  const listed = await listAll(w);
  const kept = db.get(Count, "select count(*) as n from messages")?.n;
  assert.equal(listed.length, kept, "the pages list all kept messages");
  for (const { message_id, text, reply } of listed) {
    for (const nextText of [text, reply].filter(Boolean)) {
      const { messages } = await get(w, `/messages?q=${nextText}`);
      const ids = messages.map((message: LogEntry) => message.message_id);
      assert.ok(ids.includes(message_id), `${nextText} of ${message_id} is found`);
    }
  }
  const stray = db.all(
    Seq,
    "select id as seq from message_words_docsize where id not in (select seq from messages)",
  );
  assert.deepEqual(stray, [], "a deleted message is not in the index");
  for (const id of open) {
    assert.equal((await get(w, `/asks/${id}`)).state, "open", "an open ask was deleted");
  }
  assert.deepEqual((await get(w, "/deliveries")).unaccounted, []);
  assert.deepEqual(w.logged, []);
}

Deno.test("after any sequence of sends, deletions and restarts, all kept messages are listed and found", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...Object.keys(STEPS)), { minLength: 20, maxLength: 40 }),
      async (steps) => {
        await using storm = new MessagesStorm();
        await connectPeer(storm.w, "ada");
        await connectPeer(storm.w, "bob");
        for (const step of steps) await STEPS[step]?.(storm);
        await check(storm);
      },
    ),
    { numRuns: 5 },
  );
});
