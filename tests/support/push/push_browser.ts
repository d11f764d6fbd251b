/**
 * Pushes to Chromium. Its own push service is one of its vendor, so a page gets subscriptions of a
 * `FakePushService` here, and the decrypted text is handed to the browser's service worker.
 */

import type { CDPSession, Page } from "playwright-core";
import { until } from "../waiting.ts";
import type { FakePushService } from "./push_service.ts";

/** Makes the pages of a context subscribe at this service. Load the page afterwards. */
export async function subscribeAt(page: Page, service: FakePushService): Promise<void> {
  await page.context().exposeFunction(
    "subscribeForTest",
    (server_key: string) => service.subscribe(server_key),
  );
  // The empty page has no storage.
  await page.context().addInitScript(`if (location.protocol !== "about:") {
    let subscription = JSON.parse(sessionStorage.getItem("subscription-for-test"));
    const keep = (value) => {
      subscription = value;
      sessionStorage.setItem("subscription-for-test", JSON.stringify(value));
    };
    const asSubscription = () => subscription && {
      endpoint: subscription.endpoint,
      toJSON: () => subscription,
      unsubscribe: async () => keep(null),
    };
    PushManager.prototype.subscribe = async ({ applicationServerKey }) => {
      const options = { alphabet: "base64url", omitPadding: true };
      keep(await subscribeForTest(applicationServerKey.toBase64(options)));
      return asSubscription();
    };
    PushManager.prototype.getSubscription = async () => asSubscription();
  }`);
}

/** Hands texts to the service worker of a page, as the browser does with pushes. */
export class PushDelivery {
  readonly #devtools: CDPSession;
  readonly #page: Page;
  readonly #registrations = new Map<string, string>();

  private constructor(page: Page, devtools: CDPSession) {
    this.#page = page;
    this.#devtools = devtools;
    devtools.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
      for (const { scopeURL, registrationId } of registrations) {
        this.#registrations.set(scopeURL, registrationId);
      }
    });
  }

  static async open(page: Page): Promise<PushDelivery> {
    const delivery = new PushDelivery(page, await page.context().newCDPSession(page));
    await delivery.#devtools.send("ServiceWorker.enable");
    return delivery;
  }

  get #worker() {
    const [worker] = this.#page.context().serviceWorkers();
    if (!worker) throw new Error("The page has no worker");
    return worker;
  }

  async deliver(data: string): Promise<void> {
    const [scope = ""] = this.#page.url().split("#");
    const registrationId = await until("the worker", () => this.#registrations.get(scope));
    const { origin } = new URL(scope);
    await this.#devtools.send("ServiceWorker.deliverPushMessage", { origin, registrationId, data });
  }

  /** The notifications that the worker shows. */
  async shown(): Promise<Notification[]> {
    return await this.#worker.evaluate(`self.registration.getNotifications()
      .then((shown) => shown.map(({ title, body, actions }) => ({ title, body, actions })))`);
  }

  /** Chooses the notification of this title, or one of its buttons. */
  async choose(title: string, button?: string): Promise<void> {
    await this.#worker.evaluate(
      `(async () => {
      const shown = await self.registration.getNotifications();
      const notification = shown.find(({ title }) => title === ${JSON.stringify(title)});
      const found = notification.actions.find(({ title }) => title === ${JSON.stringify(button)});
      const action = found?.action ?? "";
      self.dispatchEvent(new NotificationEvent("notificationclick", { notification, action }));
    })()`,
    );
  }
}

interface Notification {
  readonly title: string;
  readonly body: string;
  readonly actions: readonly { readonly title: string }[];
}
