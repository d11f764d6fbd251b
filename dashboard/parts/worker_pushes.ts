/**
 * Pushes in the service worker: shows them, reports on them, and sends the answer of a button. The
 * text comes from a machine, so it is shown as text and leads only to the page of that machine.
 */

import { type PushPayload, REFUSAL, type REPORTS } from "protocol/push/payload.ts";
import type { ChosenEvent, RenewedEvent, WorkerScope } from "./worker_scope.ts";

type Report = (typeof REPORTS)[number];

/** Maximum characters of a text; the daemon sends less. */
const CHARS_MAX = 1000;

export class WorkerPushes {
  readonly #self: WorkerScope;
  /** The address of the page without `/dashboard`. */
  readonly #base: string;

  constructor(self: WorkerScope) {
    this.#self = self;
    this.#base = self.registration.scope.replace(/\/dashboard$/, "");
  }

  /** Each push shows a notification: browsers end the pushes of a page that shows none. */
  async received(text: string | undefined): Promise<void> {
    const push = parsePush(text);
    if (!push) {
      const options = { body: "Open the page to see what is new.", tag: this.#base };
      return await this.#self.registration.showNotification("Agent Mesh", options);
    }
    await this.#show(push);
    const answer = await this.#report(push, "displayed");
    if (push.kind === "item" && answer?.is_over) {
      await this.#show({ ...push, kind: "close", title: `Over: ${push.title}`, actions: [] });
    }
  }

  async chosen({ action, notification }: ChosenEvent): Promise<void> {
    notification.close();
    const push = readPush(notification.data);
    if (!push) return await this.#openPage("attention");
    const reported = this.#report(push, "chosen");
    const option = push.actions.find(({ option_id }) => `option ${option_id}` === action);
    if (option) await this.#answer(push, option.option_id);
    else {
      const card = encodeURIComponent(push.subject.replace(REFUSAL, ""));
      await this.#openPage(`attention?at=${card}`);
    }
    await reported;
  }

  async dismissed({ notification }: ChosenEvent): Promise<void> {
    const push = readPush(notification.data);
    if (push) await this.#report(push, "dismissed");
  }

  /** The push service has given this browser another address. */
  async renewed({ oldSubscription, newSubscription }: RenewedEvent): Promise<void> {
    const { pushManager } = this.#self.registration;
    const options = oldSubscription?.options;
    const subscription = newSubscription ?? (options && await pushManager.subscribe(options));
    if (!subscription) return;
    const { endpoint, keys } = subscription.toJSON();
    const replaces = oldSubscription?.endpoint;
    await this.#post("/push/subscriptions", { endpoint, keys, ...(replaces && { replaces }) });
  }

  #show(push: PushPayload): Promise<void> {
    const { title, body, subject, kind, at } = push;
    return this.#self.registration.showNotification(title, {
      body,
      tag: `${new URL(this.#base).pathname.replace(/\/$/, "")} ${subject}`,
      data: push,
      timestamp: at,
      silent: kind === "close",
      actions: actionsOf(push),
    });
  }

  /** Answers the question of a push. If that fails, another notification says so. */
  async #answer(push: PushPayload, option_id: string): Promise<void> {
    const problem = await this.#sendAnswer(push, option_id).catch(() =>
      "No connection: it is not known whether your answer arrived. Open the page to see."
    );
    if (problem === undefined) return;
    const title = `Not answered: ${push.title}`;
    // The page closes notifications of questions that are over, but not this one.
    const subject = `${push.subject}${REFUSAL}`;
    await this.#show({ ...push, kind: "item", subject, title, body: problem, actions: [] });
  }

  /** The reason why the answer was not accepted. */
  async #sendAnswer(push: PushPayload, option_id: string): Promise<string | undefined> {
    const session = push.account === null ? undefined : await this.#session();
    if (push.account !== null && session?.account !== push.account) {
      return "This browser is not signed in to the relay as it was. Open the page to answer.";
    }
    const path = `/inbox/${encodeURIComponent(push.item_id ?? "")}/reply`;
    const body = { surface: "dashboard", option_id };
    const response = await this.#post(path, body, {
      "idempotency-key": `answer ${push.push_id} ${option_id}`.slice(0, 255),
      ...(session && { "x-mesh-form-token": session.form_token }),
    });
    if (response.ok) return undefined;
    const { detail } = await response.json().catch(() => ({})) as { detail?: unknown };
    return typeof detail === "string" ? detail.slice(0, CHARS_MAX) : `HTTP ${response.status}`;
  }

  /** The sign-in of this browser at the relay. */
  async #session(): Promise<{ account: unknown; form_token: string } | undefined> {
    const response = await fetch(`${this.#base}/dashboard/session`, { cache: "no-store" });
    if (!response.ok) return undefined;
    const { account, form_token } = await response.json();
    return { account, form_token: String(form_token) };
  }

  /** A report that does not arrive is not repeated: the state of the push is then not known. */
  async #report(push: PushPayload, report: Report): Promise<{ is_over?: boolean } | undefined> {
    const { push_id, token } = push;
    try {
      const response = await this.#post("/push/reports", { push_id, token, report });
      return response.ok ? await response.json() : undefined;
    } catch {
      return undefined;
    }
  }

  async #post(
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return await fetch(`${this.#base}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
      redirect: "error",
    });
  }

  async #openPage(view: string): Promise<void> {
    const { scope } = this.#self.registration;
    const windows = await this.#self.clients.matchAll({ type: "window" });
    const open = windows.find(({ url }) => url.split(/[?#]/, 1)[0] === scope);
    if (!open) return void await this.#self.clients.openWindow(`${scope}#/${view}`);
    open.postMessage(view);
    await open.focus();
  }
}

/** Buttons, if the platform shows that many: a person must not see only a part of the options. */
function actionsOf({ actions }: PushPayload) {
  const { maxActions = 0 } = Notification as { maxActions?: number };
  if (actions.length > maxActions) return [];
  return actions.map(({ option_id, title }) => ({ action: `option ${option_id}`, title }));
}

function parsePush(text: string | undefined): PushPayload | undefined {
  try {
    return readPush(JSON.parse(text ?? ""));
  } catch {
    return undefined;
  }
}

const FIELDS = ["push_id", "token", "subject", "title", "body"] as const;

/** A push whose fields have the right types, and texts of a limited length. */
function readPush(value: unknown): PushPayload | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const given = value as Partial<Record<keyof PushPayload, unknown>>;
  const { kind, actions, item_id, account, at } = given;
  if (kind !== "item" && kind !== "close" && kind !== "test") return undefined;
  const texts = FIELDS.map((name) => given[name]);
  if (!texts.every((text) => typeof text === "string")) return undefined;
  const [push_id = "", token = "", subject = "", title = "", body = ""] = texts.map((text) =>
    text.slice(0, CHARS_MAX)
  );
  return {
    kind,
    push_id,
    token,
    subject,
    title,
    body,
    actions: Array.isArray(actions) ? actions.flatMap(readAction) : [],
    item_id: typeof item_id === "string" ? item_id : null,
    account: typeof account === "string" ? account : null,
    at: typeof at === "number" ? at : 0,
  };
}

function readAction(value: unknown): PushPayload["actions"][number][] {
  if (typeof value !== "object" || value === null) return [];
  const { option_id, title } = value as { option_id?: unknown; title?: unknown };
  return typeof option_id === "string" && typeof title === "string" ? [{ option_id, title }] : [];
}
