/** A daemon with a human called sam, whose devices get pushes from a push service. */

import type { SubscribePush } from "protocol/push/contract.ts";
import { signIn } from "../daemon/peer_clients.ts";
import { type World, world, type WorldOptions } from "../world.ts";
import { FakePushService } from "./push_service.ts";

export const WITH_SAM = { "human.name": "sam" };

/** Options of a world with this push service. */
export function pushOptions(service: FakePushService, more: WorldOptions = {}): WorldOptions {
  return { settings: WITH_SAM, sendPublicly: service.send, ...more };
}

export async function pushWorld(more: WorldOptions = {}) {
  const service = new FakePushService();
  const w = world(pushOptions(service, more));
  service.now = () => w.clock.now();
  return { w, service, phone: await Phone.open(w, service) };
}

type Settings = Partial<
  Pick<SubscribePush, "name" | "questions" | "approvals" | "done" | "account">
>;

/** A browser that is signed in as the human. */
export class Phone {
  readonly #w: World;
  readonly #service: FakePushService;
  readonly headers: Record<string, string>;

  private constructor(w: World, service: FakePushService, headers: Record<string, string>) {
    this.#w = w;
    this.#service = service;
    this.headers = headers;
  }

  static async open(w: World, service: FakePushService): Promise<Phone> {
    return new Phone(w, service, await signIn(w));
  }

  async request(method: string, path: string, body?: unknown) {
    const response = await this.#w.fetch(path, {
      method,
      headers: this.headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, ...await response.json() };
  }

  /** Subscribes; returns the record and the endpoint. */
  async subscribe(settings: Settings = {}) {
    const { public_key } = await this.request("GET", "/push");
    const subscription = this.#service.subscribe(public_key);
    const body = { name: "phone", ...subscription, ...settings };
    const record = await this.request("POST", "/push/subscriptions", body);
    return { ...record, endpoint: subscription.endpoint, keys: subscription.keys };
  }

  report(push: { push_id: string; token: string }, report: string) {
    const { push_id, token } = push;
    return this.request("POST", "/push/reports", { push_id, token, report });
  }

  /** The state of the newest push to this person's first device. */
  async last() {
    const { subscriptions: [first] } = await this.request("GET", "/push");
    return first.last && [first.last.state, first.last.reason];
  }
}
