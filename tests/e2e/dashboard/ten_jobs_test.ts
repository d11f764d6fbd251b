/**
 * Ten jobs of a day, done by a person at the desk and on a phone: each is proved in the daemon's
 * state, and takes at most so many clicks and keys. docs/dashboard.md has the figures.
 */

import assert from "node:assert/strict";
import { getAsk } from "protocol/asks/contract.ts";
import { listInbox } from "protocol/inbox.ts";
import { getJob } from "protocol/jobs/contract.ts";
import { listMessages } from "protocol/messages/log.ts";
import { Day, LAST_WEEK, UNREAD } from "../../support/dashboard/day.ts";
import { type Effort, Person } from "../../support/dashboard/person.ts";
import { PHONE } from "../../support/dashboard/shared_browser.ts";
import { print, until } from "../../support/waiting.ts";

const SCREENS = { desk: { viewport: { width: 1440, height: 900 } }, phone: PHONE } as const;
type Screen = keyof typeof SCREENS;
type View = "Mesh" | "Log" | "Jobs" | "Usage";

/** Maximum clicks and keys. On a phone, a view may be behind one more click, on "More". */
type Limit = readonly [clicks: number, keys: number];

interface Job {
  readonly title: string;
  readonly desk: Limit;
  readonly phone: Limit;
  readonly run: (person: Worker, day: Day) => Promise<void>;
}

/** A person who knows the keys of the page, and has a phone without a keyboard. */
class Worker extends Person {
  readonly screen: Screen;

  constructor(page: Person["page"], screen: Screen) {
    super(page);
    this.screen = screen;
  }

  async goTo(view: View): Promise<void> {
    const key = { Mesh: "p", Log: "l", Jobs: "j", Usage: "u" }[view];
    if (this.screen === "desk") return await this.press("g", key);
    const name = view === "Mesh" ? /^(Mesh|Agents)\b/ : new RegExp(`^${view}\\b`);
    const link = this.page.getByRole("link", { name }).filter({ visible: true }).first();
    const more = this.page.getByRole("button", { name: "More", exact: true })
      .or(this.page.getByRole("link", { name: "More", exact: true }));
    if (await link.count() === 0) await this.click(more);
    await this.click(link);
  }

  card(name: string) {
    return this.page.getByRole("listitem")
      .filter({ has: this.page.getByRole("link", { name, exact: true }) }).last();
  }

  /** The row that leads to an item, beside which a desk shows the chosen one. */
  row(name: string) {
    return this.page.getByRole("main").getByRole("link", { name: new RegExp(`^${name} `) }).first();
  }

  async open(peer: string): Promise<void> {
    await this.goTo("Mesh");
    const main = this.page.getByRole("main");
    await this.click(main.getByRole("link", { name: new RegExp(`^${peer} `) }).first());
  }
}

const JOBS: readonly Job[] = [
  {
    title: "See who needs me",
    desk: [0, 0],
    phone: [0, 0],
    run: async (person, { lab }) => {
      const { items } = await lab.call(listInbox, { query: {} });
      const asking = items.flatMap(({ state, from }) => state === "open" ? from : []);
      assert.deepEqual(asking.toSorted(), ["api", "api-claude-code", "db"]);
      for (const name of asking) {
        const card = person.card(name).getByText(name).first();
        await person.see(person.screen === "desk" ? person.row(name) : card);
      }
    },
  },
  {
    title: "Answer a question",
    desk: [1, 7],
    phone: [2, 5],
    run: async (person, { lab }) => {
      const { items } = await lab.call(listInbox, { query: {} });
      const id = items.find(({ from }) => from === "api")?.correlation_id;
      const field = person.page.getByLabel("Answer api", { exact: true });
      if (person.screen === "desk") {
        await person.click(person.row("api"));
        await person.see(field);
        await person.press("a");
        await person.waitForFocus(field);
      } else await person.click(field);
      await person.type("today");
      if (person.screen === "desk") await person.press("Enter");
      else {
        await person.click(person.card("api").getByRole("button", { name: "Answer", exact: true }));
      }
      const ask = await until("the answer", async () => {
        const ask = await lab.call(getAsk, { params: { id: id ?? "" } });
        return ask.closed_at !== null && ask;
      });
      assert.equal(ask.reply, "today");
    },
  },
  {
    title: "Approve a command",
    desk: [1, 1],
    phone: [1, 0],
    run: async (person, { permission }) => {
      if (person.screen === "desk") await person.click(person.row("api-claude-code"));
      const card = person.card("api-claude-code");
      await person.see(card.getByText("git push").first());
      if (person.screen === "desk") await person.press("1");
      else await person.click(card.getByRole("button", { name: /^Allow/ }));
      assert.deepEqual(await permission.answer, { behavior: "allow" });
    },
  },
  {
    title: "Learn why a message is unread",
    desk: [1, 2],
    phone: [3, 0],
    run: async (person, { lab }) => {
      await person.goTo("Log");
      const row = person.page.getByRole("button", { name: new RegExp(UNREAD) });
      await person.click(row);
      await person.see(person.page.getByText(/^Not read: .*offline/));
      const { messages } = await lab.call(listMessages, { query: { q: "backups" } });
      assert.deepEqual(messages.map(({ state }) => state), ["queued"]);
    },
  },
  {
    title: "Find a message of last week",
    desk: [1, 5],
    phone: [4, 4],
    run: async (person, { lab }) => {
      const field = person.page.getByRole("searchbox", { name: "Search all messages" });
      if (person.screen === "desk") {
        await person.press("/");
        await person.waitForFocus(field);
      } else {
        await person.goTo("Log");
        await person.click(field);
      }
      await person.type("port");
      await person.click(person.page.getByRole("button", { name: LAST_WEEK }));
      await person.see(person.page.getByText(LAST_WEEK, { exact: true }).last());
      const { messages } = await lab.call(listMessages, { query: { q: '"staging is 7443"' } });
      assert.ok(Date.parse(messages[0]?.created_at ?? "") < Date.now() - 6 * 86_400_000);
    },
  },
  {
    title: "Start an agent",
    desk: [0, 5],
    phone: [5, 0],
    run: async (person, { panes }) => {
      if (person.screen === "desk") await person.press("n");
      else {
        await person.goTo("Mesh");
        await person.click(person.page.getByRole("button", { name: /^Start an agent/ }));
      }
      const dialog = person.page.getByRole("dialog", { name: "Start an agent" });
      const folder = dialog.getByRole("combobox", { name: "Folder" });
      if (person.screen === "desk") {
        await person.waitForFocus(folder);
        await person.type("api");
        await person.press("Enter");
      } else {
        await person.click(folder);
        await person.click(dialog.getByRole("option", { name: "/api" }));
        await person.click(dialog.getByRole("button", { name: "Start it" }));
      }
      await person.see(dialog.getByText("waits for its registration"));
      const folders = panes.tmux("list-panes", "-a", "-F", "#{pane_current_path}");
      assert.equal(folders, `${panes.folder}/api`);
    },
  },
  {
    title: "Stop a turn",
    desk: [2, 2],
    phone: [3, 0],
    run: async (person, { runner }) => {
      await person.goTo("Mesh");
      await person.click(person.page.getByRole("button", { name: "Stop the turn of runner" }));
      const dialog = person.page.getByRole("dialog", { name: "Stop runner?" });
      await person.click(dialog.getByRole("button", { name: "Stop it" }));
      await until("the request", () => runner.frames.some(({ type }) => type === "interrupt"));
      runner.send({ type: "status", status: "online", turn_state: "idle", error: "interrupted" });
      await person.see(dialog.getByText("The turn of runner was interrupted"));
    },
  },
  {
    title: "See what an agent did",
    desk: [4, 2],
    phone: [5, 0],
    run: async (person) => {
      await person.open("painter");
      const { page } = person;
      await person.click(page.getByRole("button", { name: "Timeline", exact: true }));
      const timeline = page.getByRole("region", { name: "Timeline" });
      await person.click(timeline.getByRole("button", { name: /Bash echo hi; cat notes\.txt ok/ }));
      await person.see(timeline.getByText("hello from the file"));
      await person.click(page.getByRole("button", { name: "Changes", exact: true }));
      const changes = page.getByRole("region", { name: "Changes", exact: true });
      await person.see(changes.getByText("b { color: teal }"));
    },
  },
  {
    title: "Hand out a job",
    desk: [5, 22],
    phone: [6, 20],
    run: async (person, day) => {
      await person.goTo("Jobs");
      const { page } = person;
      await person.click(page.getByRole("link", { name: "New job" }));
      await person.click(page.getByLabel("Prompt"));
      await person.type("Mend the login test.");
      const peer = page.getByRole("combobox", { name: "Peer", exact: true });
      await person.choose(peer, { label: "web (shop, online)" });
      await person.click(page.getByRole("button", { name: "Create the job" }));
      await page.waitForURL(/#\/jobs\/work-/);
      const id = page.url().slice(page.url().lastIndexOf("/") + 1);
      const made = await day.lab.call(getJob, { params: { id } });
      const { prompt, target } = made.execution;
      assert.equal(prompt.body, "Mend the login test.");
      assert.equal(target.assigned_peer_id, day.peers.get("web")?.peer_id);
    },
  },
  {
    title: "See what today cost",
    desk: [2, 2],
    phone: [4, 0],
    run: async (person) => {
      await person.goTo("Usage");
      const { page } = person;
      await person.click(page.getByRole("button", { name: "Today" }));
      await person.click(page.getByRole("button", { name: "Agent", exact: true }));
      await person.see(page.getByRole("row", { name: /^ledger .*0\.85 EUR/ }));
    },
  },
];

for (const screen of ["desk", "phone"] as const) {
  const name = `ten jobs of a day take few clicks and keys: ${screen}`;
  Deno.test(name, async () => {
    const day = await Day.start();
    if (!day) return print(`skipped: ${name} (no Chromium; install the package chromium)`);
    await using _day = day;
    const tooMuch: string[] = [];
    for (const job of JOBS) {
      const effort = await work(day, job, screen);
      const [clicks, keys] = job[screen];
      const line = `${screen}: ${job.title}: ${JSON.stringify(effort)}`;
      print(line);
      if (effort.clicks > clicks || effort.keys > keys) tooMuch.push(line);
    }
    assert.deepEqual(tooMuch, []);
    assert.deepEqual(day.lab.offences, []);
  });
}

/** Does a job on a new page, which shows what waits for the person. */
async function work(day: Day, job: Job, screen: Screen): Promise<Effort> {
  const page = await day.lab.open("", SCREENS[screen]);
  await page.getByRole("heading", { name: "Attention", level: 1 }).waitFor();
  const person = new Worker(page, screen);
  try {
    await job.run(person, day);
  } catch (error) {
    throw new Error(`${screen}: ${job.title}`, { cause: error });
  }
  const { effort } = person;
  await page.context().close();
  return effort;
}
