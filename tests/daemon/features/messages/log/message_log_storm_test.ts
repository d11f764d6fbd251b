import assert from "node:assert/strict";
import fc from "fast-check";
import * as z from "zod";
import { FakeClock } from "../../../../support/clock.ts";
import { countingIds } from "../../../../support/ids.ts";
import { FakeProcesses, type World, world } from "../../../../support/world.ts";
import { ask, get, join, notify, post } from "../../../../support/daemon/peer_clients.ts";

const SETTINGS = {
  "human.name": "sam",
  "daemon.history_days": "1",
  "daemon.ask_ttl_hours": "8760",
  "daemon.queue.max_per_peer": "100000",
};

const Count = z.object({ n: z.number() });
const Seq = z.object({ seq: z.number() });

interface Listed {
  message_id: string;
  kind: string;
  text: string;
  reply: string | null;
}

/** A daemon that is restarted, and what it has to remember of what was said. */
class House implements AsyncDisposable {
  readonly #directory = Deno.makeTempDirSync();
  readonly #shared = { clock: new FakeClock(), ids: countingIds(), processes: new FakeProcesses() };
  readonly open = new Set<string>();
  #said = 0;
  w: World = this.#start();

  #start(): World {
    return world({ ...this.#shared, db_path: `${this.#directory}/mesh.db`, settings: SETTINGS });
  }

  word(): string {
    return `plum${++this.#said}`;
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

async function asks(house: House, from: string, more: Record<string, unknown>): Promise<void> {
  house.open.add(await ask(house.w, from, "bob", house.word(), more));
}

const STEPS: Record<string, (house: House) => unknown> = {
  note: (house) => notify(house.w, "ada", "bob", house.word()),
  human: (house) => notify(house.w, "ada", "sam", house.word()),
  ask: (house) => asks(house, "ada", {}),
  pull: (house) => asks(house, "ada", { reply_delivery: "pull" }),
  stranger: (house) => asks(house, "nobody", {}),
  connect: ({ w }) => join(w, "bob"),
  async reply(house) {
    const [correlation_id] = house.open;
    if (!correlation_id) return;
    house.open.delete(correlation_id);
    await post(house.w, "/ack", { correlation_id, message: house.word() });
  },
  second: ({ w }) => w.beat(),
  day: ({ w }) => w.beat(90_000),
  restart: (house) => house.restart(),
};

/** All pages of a walk, by small steps. */
async function walk(w: World): Promise<Listed[]> {
  const messages: Listed[] = [];
  for (let next: string | null = ""; next !== null;) {
    const page = await get(w, `/messages?limit=7${next && `&cursor=${next}`}`);
    messages.push(...page.messages);
    next = page.next;
  }
  return messages;
}

async function check({ w, open }: House): Promise<void> {
  for (let beats = 0; beats < 3; beats++) await w.beat();
  const { db } = w.daemon.ground;
  const listed = await walk(w);
  const kept = db.get(Count, "select count(*) as n from messages")?.n;
  assert.equal(listed.length, kept, "a walk shows all that is kept");
  for (const { message_id, text, reply } of listed) {
    for (const word of [text, reply].filter(Boolean)) {
      const { messages } = await get(w, `/messages?q=${word}`);
      const ids = messages.map((message: Listed) => message.message_id);
      assert.ok(ids.includes(message_id), `${word} of ${message_id} is found`);
    }
  }
  const stray = db.all(
    Seq,
    "select id as seq from message_words_docsize where id not in (select seq from messages)",
  );
  assert.deepEqual(stray, [], "what was forgotten has no words");
  for (const id of open) {
    assert.equal((await get(w, `/asks/${id}`)).state, "open", "an open ask was forgotten");
  }
  assert.deepEqual((await get(w, "/deliveries")).unaccounted, []);
  assert.deepEqual(w.logged, []);
}

Deno.test("whatever is said, forgotten or restarted, what is kept is listed and found", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...Object.keys(STEPS)), { minLength: 20, maxLength: 40 }),
      async (steps) => {
        await using house = new House();
        await join(house.w, "ada");
        await join(house.w, "bob");
        for (const step of steps) await STEPS[step]?.(house);
        await check(house);
      },
    ),
    { numRuns: 5 },
  );
});
