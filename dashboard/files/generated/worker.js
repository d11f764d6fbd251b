// protocol/push/payload.ts
var REFUSAL = " refused";

// dashboard/parts/worker_pushes.ts
var CHARS_MAX = 1e3;
var WorkerPushes = class {
  #self;
  /** The address of the page without `/dashboard`. */
  #base;
  constructor(self2) {
    this.#self = self2;
    this.#base = self2.registration.scope.replace(/\/dashboard$/, "");
  }
  /** Each push shows a notification: browsers end the pushes of a page that shows none. */
  async received(text) {
    const push = parsePush(text);
    if (!push) {
      const options = {
        body: "Open the page to see what is new.",
        tag: this.#base
      };
      return await this.#self.registration.showNotification("Agent Mesh", options);
    }
    await this.#show(push);
    const answer = await this.#report(push, "displayed");
    if (push.kind === "item" && answer?.is_over) {
      await this.#show({
        ...push,
        kind: "close",
        title: `Over: ${push.title}`,
        actions: []
      });
    }
  }
  async chosen({ action, notification }) {
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
  async dismissed({ notification }) {
    const push = readPush(notification.data);
    if (push) await this.#report(push, "dismissed");
  }
  /** The push service has given this browser another address. */
  async renewed({ oldSubscription, newSubscription }) {
    const { pushManager } = this.#self.registration;
    const options = oldSubscription?.options;
    const subscription = newSubscription ?? (options && await pushManager.subscribe(options));
    if (!subscription) return;
    const { endpoint, keys } = subscription.toJSON();
    const replaces = oldSubscription?.endpoint;
    await this.#post("/push/subscriptions", {
      endpoint,
      keys,
      ...replaces && {
        replaces
      }
    });
  }
  #show(push) {
    const { title, body, subject, kind, at } = push;
    return this.#self.registration.showNotification(title, {
      body,
      tag: `${new URL(this.#base).pathname.replace(/\/$/, "")} ${subject}`,
      data: push,
      timestamp: at,
      silent: kind === "close",
      actions: actionsOf(push)
    });
  }
  /** Answers the question of a push. If that fails, another notification says so. */
  async #answer(push, option_id) {
    const problem = await this.#sendAnswer(push, option_id).catch(() => "No connection: it is not known whether your answer arrived. Open the page to see.");
    if (problem === void 0) return;
    const title = `Not answered: ${push.title}`;
    const subject = `${push.subject}${REFUSAL}`;
    await this.#show({
      ...push,
      kind: "item",
      subject,
      title,
      body: problem,
      actions: []
    });
  }
  /** The reason why the answer was not accepted. */
  async #sendAnswer(push, option_id) {
    const session = push.account === null ? void 0 : await this.#session();
    if (push.account !== null && session?.account !== push.account) {
      return "This browser is not signed in to the relay as it was. Open the page to answer.";
    }
    const path = `/inbox/${encodeURIComponent(push.item_id ?? "")}/reply`;
    const body = {
      surface: "dashboard",
      option_id
    };
    const response = await this.#post(path, body, {
      "idempotency-key": `answer ${push.push_id} ${option_id}`.slice(0, 255),
      ...session && {
        "x-mesh-form-token": session.form_token
      }
    });
    if (response.ok) return void 0;
    const { detail } = await response.json().catch(() => ({}));
    return typeof detail === "string" ? detail.slice(0, CHARS_MAX) : `HTTP ${response.status}`;
  }
  /** The sign-in of this browser at the relay. */
  async #session() {
    const response = await fetch(`${this.#base}/dashboard/session`, {
      cache: "no-store"
    });
    if (!response.ok) return void 0;
    const { account, form_token } = await response.json();
    return {
      account,
      form_token: String(form_token)
    };
  }
  /** A report that does not arrive is not repeated: the state of the push is then not known. */
  async #report(push, report) {
    const { push_id, token } = push;
    try {
      const response = await this.#post("/push/reports", {
        push_id,
        token,
        report
      });
      return response.ok ? await response.json() : void 0;
    } catch {
      return void 0;
    }
  }
  async #post(path, body, headers = {}) {
    return await fetch(`${this.#base}${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...headers
      },
      body: JSON.stringify(body),
      redirect: "error"
    });
  }
  async #openPage(view) {
    const { scope: scope2 } = this.#self.registration;
    const windows = await this.#self.clients.matchAll({
      type: "window"
    });
    const open = windows.find(({ url }) => url.split(/[?#]/, 1)[0] === scope2);
    if (!open) return void await this.#self.clients.openWindow(`${scope2}#/${view}`);
    open.postMessage(view);
    await open.focus();
  }
};
function actionsOf({ actions }) {
  const { maxActions = 0 } = Notification;
  if (actions.length > maxActions) return [];
  return actions.map(({ option_id, title }) => ({
    action: `option ${option_id}`,
    title
  }));
}
function parsePush(text) {
  try {
    return readPush(JSON.parse(text ?? ""));
  } catch {
    return void 0;
  }
}
var FIELDS = [
  "push_id",
  "token",
  "subject",
  "title",
  "body"
];
function readPush(value) {
  if (typeof value !== "object" || value === null) return void 0;
  const given = value;
  const { kind, actions, item_id, account, at } = given;
  if (kind !== "item" && kind !== "close" && kind !== "test") return void 0;
  const texts = FIELDS.map((name) => given[name]);
  if (!texts.every((text) => typeof text === "string")) return void 0;
  const [push_id = "", token = "", subject = "", title = "", body = ""] = texts.map((text) => text.slice(0, CHARS_MAX));
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
    at: typeof at === "number" ? at : 0
  };
}
function readAction(value) {
  if (typeof value !== "object" || value === null) return [];
  const { option_id, title } = value;
  return typeof option_id === "string" && typeof title === "string" ? [
    {
      option_id,
      title
    }
  ] : [];
}

// dashboard/parts/worker_requests.ts
var CACHE_PREFIX = "mesh-page ";
function isPage({ url, mode, method }, scope2) {
  return method === "GET" && mode === "navigate" && url.split(/[?#]/, 1)[0] === scope2;
}
function isFile({ url, method }, scope2, files) {
  return method === "GET" && files.some((file) => url === `${scope2}/${file}`);
}

// dashboard/parts/worker.ts
var SERVER_ERROR_MIN = 500;
var { scope } = self.registration;
var pushes = new WorkerPushes(self);
var CACHE = `${CACHE_PREFIX}${new URL(scope).pathname} ${FILES.join(" ")}`;
self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (isPage(request, scope)) event.respondWith(loadPage(event));
  else if (isFile(request, scope, FILES)) event.respondWith(loadFile(request));
});
self.addEventListener("push", (event) => event.waitUntil(pushes.received(event.data?.text())));
self.addEventListener("notificationclick", (event) => event.waitUntil(pushes.chosen(event)));
self.addEventListener("notificationclose", (event) => event.waitUntil(pushes.dismissed(event)));
self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(pushes.renewed(event)));
async function install() {
  const cache = await caches.open(CACHE);
  const page = await fetch(scope, {
    redirect: "error",
    cache: "no-store"
  });
  if (!page.ok) throw new Error(`The page answers ${page.status}`);
  await cache.put(scope, page);
  await cache.addAll(FILES.map((file) => `${scope}/${file}`));
  await self.skipWaiting();
}
async function activate() {
  const own = `${CACHE_PREFIX}${new URL(scope).pathname} `;
  const names = await caches.keys();
  const old = names.filter((name) => name.startsWith(own) && name !== CACHE);
  await Promise.all(old.map((name) => caches.delete(name)));
  await self.registration.navigationPreload.enable();
  await self.clients.claim();
}
async function loadPage({ request, preloadResponse }) {
  const kept = () => caches.match(scope, {
    cacheName: CACHE
  });
  try {
    const answer = await preloadResponse ?? await fetch(request);
    return answer.status < SERVER_ERROR_MIN ? answer : await kept() ?? answer;
  } catch (error) {
    const page = await kept();
    if (page) return page;
    throw error;
  }
}
async function loadFile(request) {
  return await caches.match(request, {
    cacheName: CACHE
  }) ?? await fetch(request);
}
