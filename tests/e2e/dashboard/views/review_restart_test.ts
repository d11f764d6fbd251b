/** The review desk after a daemon was killed: what was decided stays, and rows come at once. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { Page } from "playwright-core";
import type { ReviewList } from "protocol/reviews/contract.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import type { DashboardLab } from "../../../support/dashboard/dashboard_lab.ts";
import { WorkTrees } from "../../../support/repositories/work_trees.ts";
import { print, until } from "../../../support/waiting.ts";

const PICTURES = Deno.env.get("MESH_REVIEW_PICTURES");
const DESK = { viewport: { width: 1440, height: 900 } };

browserTest(
  "a daemon that is killed after each decision keeps decisions, comments and order [4.reviews.restart]",
  async (lab) => {
    using trees = new WorkTrees(4, 2);
    await trees.connect(lab);
    const page = await lab.open("", DESK);
    const request = (path: string, body?: unknown) =>
      page.evaluate(
        async ([path, body]) => {
          const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
          return await (await fetch(path, init)).json();
        },
        [path, body] as const,
      );
    const list = async (): Promise<ReviewList> => {
      const answer = await request("/reviews?all=true&fresh=true");
      assert.ok(Array.isArray(answer.reviews), JSON.stringify(answer));
      return answer;
    };
    // The facts of each review in the order of the desk; times of reads differ.
    const shown = async () =>
      (await list()).reviews.map(({ review_id, state, decision, comments, digest, rank }) => ({
        review_id,
        state,
        decision,
        comments,
        digest,
        rank,
      }));
    lab.forgive(/net::ERR_/);
    const restarted = async () => {
      const before = await shown();
      await lab.restart();
      assert.deepEqual(await shown(), before);
      return before;
    };
    const [first, second, third] = (await list()).reviews;
    assert.ok(first && second && third);
    const comments = [{ file: "src/login.ts", line: 1, text: "Why?" }];
    const of = trees.trees.find(({ name }) => name === "agent0");
    const commented = (await list()).reviews.find(({ author }) => author.name === of?.name);
    assert.ok(commented);
    await request(`/reviews/${commented.review_id}/comments`, { comments });
    await restarted();
    const { results } = await request("/reviews", {
      reviews: [{ id: second.review_id, digest: second.digest }],
    });
    assert.equal(results[0].accepted, true);
    await restarted();
    const sent = await request(`/reviews/${third.review_id}/send-back`, { text: "Add a test" });
    assert.equal(sent.correlation_ids.length, 1);
    const after = await restarted();
    const stateOf = (id: string) => after.find(({ review_id }) => review_id === id)?.state;
    assert.deepEqual([stateOf(second.review_id), stateOf(third.review_id)], [
      "accepted",
      "sent_back",
    ]);
    const { comments: kept } = await request(`/reviews/${commented.review_id}`);
    assert.deepEqual(kept.map(({ text }: { text: string }) => text), ["Why?"]);
    assert.equal(after[0]?.state, "ready");
  },
);

browserTest(
  "forty changes in six repositories are listed in 300 ms, and can be used while all are still to be read [4.reviews.cold]",
  async (lab) => {
    using trees = new WorkTrees(40, 6);
    await trees.connect(lab);
    const page = await lab.open("", DESK);
    await page.getByRole("link", { name: "40 ready to review" }).waitFor({ timeout: 60_000 });
    await measureAgain(page);
    await page.goto("about:blank");
    await page.addInitScript(WATCH);
    lab.forgive(/net::ERR_/);
    const forget = () => {
      using database = new DatabaseSync(`${lab.state}/mesh.db`);
      database.exec("delete from reviews");
      return Promise.resolve();
    };
    await measure(page, lab, "the daemon has run for a while");
    await lab.restart();
    await measure(page, lab, "the daemon has just started");
    await lab.restart(forget);
    await measureFromView(page, lab, "no folder was ever read, from another view");
    await lab.restart(forget);
    const cold = await measure(page, lab, "no folder was ever read");
    // The page shows all before the daemon has read all.
    assert.ok(cold.rows < cold.read, JSON.stringify(cold));
  },
);

const RUNS = 5;
/** The time from the request of the view until all reviews are drawn. */
const SHOWN_MS = `new Promise((resolve) => {
  const began = performance.now();
  location.hash = "#/review";
  const look = () => requestAnimationFrame(() =>
    document.querySelectorAll("main .review-row").length === 40
      ? resolve(performance.now() - began)
      : look());
  look();
})`;

/** From another view, when all were read before: the list then runs no git. */
async function measureAgain(page: Page): Promise<void> {
  await page.evaluate(`location.hash = "#/review"`);
  const rows = page.getByRole("main").locator(".review-row");
  await until("all are read", async () => await rows.count() === 40, 60_000);
  const times: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    await page.keyboard.press("g");
    await page.keyboard.press("a");
    await page.getByRole("link", { name: "40 ready to review" }).waitFor();
    times.push(await page.evaluate<number>(SHOWN_MS));
  }
  print(`40 reviews are shown in ${times.map(Math.round).join(", ")} ms`);
  // Others use this machine as well, so the shortest time is that of the page.
  assert.ok(Math.min(...times) < 300, times.join());
}

/** Milliseconds until each part was on the page. */
interface Seen {
  /** All rows, and the button that accepts the first review. */
  readonly rows: number;
  readonly accept: number;
  /** All folders are read. */
  readonly read: number;
}

/** From the navigation, until all folders are read. */
async function measure(page: Page, lab: DashboardLab, name: string): Promise<Seen> {
  await page.goto("about:blank");
  await page.goto(`${lab.daemon.base}/dashboard#/review`);
  const { read: _read, ...shown } = await seenOn(page, ["rows", "accept"]);
  report(name, shown);
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/${name.replaceAll(" ", "_")}.png` });
  const seen = await seenOn(page, ["rows", "accept", "read"]);
  report(`${name}, all read`, { read: seen.read });
  return seen;
}

/** From the change of the view in a page that is open. */
async function measureFromView(page: Page, lab: DashboardLab, name: string): Promise<void> {
  await page.goto("about:blank");
  await page.goto(`${lab.daemon.base}/dashboard#/mesh`);
  await page.locator(".dot.live").waitFor({ state: "attached" });
  await page.evaluate(`began = performance.now(); seen = {}; location.hash = "#/review"; 0`);
  const { read: _read, ...shown } = await seenOn(page, ["rows", "accept"]);
  report(name, shown);
}

async function seenOn(page: Page, names: readonly (keyof Seen)[]): Promise<Seen> {
  return await until(`${names.join(", ")} to be seen`, async () => {
    const found = await page.evaluate<Seen>("seen");
    return names.every((name) => found[name] !== undefined) ? found : undefined;
  }, 60_000);
}

function report(name: string, seen: Partial<Seen>): void {
  const text = Object.entries(seen).map(([what, ms]) => `${what} ${Math.round(ms)}`).join(", ");
  print(`40 reviews, ${name}: ms until ${text}`);
}

/** Notes in each frame what the page shows for the first time. */
const WATCH = `Object.assign(globalThis, { began: 0, seen: {} });
const look = () => {
  const rows = [...document.querySelectorAll("main .review-row")];
  const note = (what, is) => { if (is) seen[what] ??= performance.now() - began; };
  note("rows", rows.length === 40);
  note("accept", document.querySelector('main [data-view-key="a"]') !== null);
  note("read", rows.length === 40 && !rows.some((row) => /Not read|Reading/.test(row.textContent)));
  requestAnimationFrame(look);
};
requestAnimationFrame(look);`;
