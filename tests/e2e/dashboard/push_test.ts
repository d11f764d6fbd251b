/** Notifications of a closed page: switching them on, what they show, and answers by a button. */

import assert from "node:assert/strict";
import { choice, open } from "../../support/dashboard/attention.ts";
import { browserTest } from "../../support/dashboard/browser_tests.ts";
import type { DashboardLab } from "../../support/dashboard/dashboard_lab.ts";
import { PushDelivery, subscribeAt } from "../../support/push/push_browser.ts";
import { FakePushService } from "../../support/push/push_service.ts";
import { until } from "../../support/waiting.ts";

const ALLOWED = { permissions: ["notifications"], serviceWorkers: "allow" as const };
const SETTINGS = { MESH_PUSH__ALLOW_LOCAL: "true" };

/** The text of the next push, as the browser decrypts it. */
async function nextPush(service: FakePushService): Promise<string> {
  const push = await until("a push", () => service.received.shift());
  return JSON.stringify(push);
}

async function titles(delivery: PushDelivery): Promise<string[]> {
  return (await delivery.shown()).map(({ title }) => title);
}

/** A page on which a person has switched pushes on. */
async function openSubscribed(lab: DashboardLab, service: FakePushService) {
  service.now = () => Date.now();
  const page = await lab.open("", ALLOWED);
  await subscribeAt(page, service);
  await page.goto(`${lab.daemon.base}/dashboard#/settings`);
  await page.reload();
  await page.getByRole("button", { name: "Switch on notifications" }).click();
  await page.getByText("On: the content is encrypted").waitFor();
  return { page, delivery: await PushDelivery.open(page) };
}

browserTest("a person answers a question by a button of its notification", async (lab) => {
  const service = new FakePushService();
  await using _server = service.serve();
  const api = await lab.peer({ name: "api" });
  const { page, delivery } = await openSubscribed(lab, service);
  await page.goto("about:blank");
  const id = await open(api, choice("Run the migration?"));
  const text = await nextPush(service);
  await page.goto(`${lab.daemon.base}/dashboard#/settings`);
  await delivery.deliver(text);
  const [shown] = await until("a notification", async () => {
    const found = await delivery.shown();
    return found.length > 0 ? found : undefined;
  });
  assert.deepEqual([shown?.title, shown?.body], ["api asks you", "Run the migration?"]);
  assert.deepEqual(shown?.actions.map(({ title }) => title), ["Run it", "Leave it"]);
  await page.getByText("the last one was shown").waitFor();
  await delivery.choose("api asks you", "Run it");
  const ask = await until("the answer", async () => {
    const answer = await fetch(`${lab.daemon.base}/asks/${id}`);
    const found = await answer.json();
    return found.state === "closed" ? found : undefined;
  });
  assert.deepEqual([ask.answer.option_id, ask.reply_voice], ["yes", "human"]);
  await page.getByText("the last one was opened").waitFor();
}, SETTINGS);

browserTest("a question that was answered elsewhere leaves no button that acts", async (lab) => {
  const service = new FakePushService();
  await using _server = service.serve();
  const api = await lab.peer({ name: "api" });
  const { page, delivery } = await openSubscribed(lab, service);
  const id = await open(api, choice("Deploy?"));
  await delivery.deliver(await nextPush(service));
  await until("a notification", async () => (await titles(delivery)).length > 0);
  await page.goto("about:blank");
  const answered = await fetch(`${lab.daemon.base}/ack`, {
    method: "POST",
    body: JSON.stringify({ correlation_id: id, message: "no", from_peer: "dashboard" }),
  });
  assert.equal(answered.status, 200);
  const close = await nextPush(service);
  await page.goto(`${lab.daemon.base}/dashboard#/settings`);
  // The button is chosen before the browser gets the push that replaces the notification.
  await delivery.deliver(JSON.stringify({ ...JSON.parse(close), kind: "item", title: "Late" }));
  await until("the end", async () => (await titles(delivery))[0] === "Over: Late");
  await delivery.deliver(close);
  await until("the replacement", async () => (await titles(delivery))[0] === "Over: api asked you");
  assert.deepEqual((await delivery.shown()).map(({ actions }) => actions.length), [0]);
}, SETTINGS);

browserTest(
  "an answer that comes too late is said to be so by another notification",
  async (lab) => {
    const service = new FakePushService();
    await using _server = service.serve();
    const api = await lab.peer({ name: "api" });
    const { page, delivery } = await openSubscribed(lab, service);
    const id = await open(api, choice("Deploy?"));
    const text = await nextPush(service);
    await delivery.deliver(text);
    await until("a notification", async () => (await titles(delivery)).length > 0);
    // An open page would close the notification of a question that is over.
    await page.goto("about:blank");
    await fetch(`${lab.daemon.base}/ack`, {
      method: "POST",
      body: JSON.stringify({ correlation_id: id, message: "no", from_peer: "dashboard" }),
    });
    await delivery.choose("api asks you", "Run it");
    const shown = await until(
      "the refusal",
      async () =>
        (await delivery.shown()).find(({ title }) => title === "Not answered: api asks you"),
    );
    assert.match(shown.body, /is closed: answered/);
    lab.forgive(/status of 410/);
  },
  SETTINGS,
);

browserTest("a page without push, or without permission, says what to do", async (lab) => {
  const page = await lab.open("", { serviceWorkers: "allow" });
  await page.addInitScript("delete globalThis.PushManager");
  await page.goto(`${lab.daemon.base}/dashboard#/settings`);
  await page.reload();
  await page.getByText("Not available: this browser offers no pushes").waitFor();
  const blocked = await lab.open("", { serviceWorkers: "allow" });
  await blocked.addInitScript(`Object.defineProperty(Notification, "permission",
    { get: () => "denied" })`);
  await blocked.goto(`${lab.daemon.base}/dashboard#/settings`);
  await blocked.reload();
  await blocked.getByText("Allow notifications there.").waitFor();
});

browserTest("a page that does not speak as the person cannot switch pushes on", async (lab) => {
  const page = await lab.openPlain("#/settings");
  await page.getByText("Only a page that speaks as you may switch them on").waitFor();
  assert.equal(await page.getByRole("button", { name: "Switch on notifications" }).count(), 0);
});

browserTest("a device is changed, tested and removed on the page", async (lab) => {
  const service = new FakePushService();
  await using _server = service.serve();
  const { page } = await openSubscribed(lab, service);
  await page.getByLabel("Replies, reports and notices").uncheck();
  await until("the setting", async () => {
    const { subscriptions } = await subscriptionsOf();
    return subscriptions[0]?.done === false;
  });
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByText("was taken by the push service").waitFor();
  await page.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.getByText("No device gets notifications").waitFor();
  await page.getByRole("button", { name: "Switch on notifications" }).waitFor();

  /** As the page reads it. */
  function subscriptionsOf() {
    return page.evaluate<{ subscriptions: { done: boolean }[] }>(
      `fetch("/push").then((answer) => answer.json())`,
    );
  }
}, SETTINGS);
