/**
 * The service worker: opens the page while its server cannot be reached, and shows pushes while no
 * page is open. It answers with the page and its files only, never with data.
 */

import { WorkerPushes } from "./worker_pushes.ts";
import { CACHE_PREFIX, isFile, isPage } from "./worker_requests.ts";
import type { RequestEvent, WorkerScope } from "./worker_scope.ts";

declare const self: WorkerScope;
/** The names of the files, relative to the folder of this script; the server sets them. */
declare const FILES: readonly string[];

const SERVER_ERROR_MIN = 500;

const { scope } = self.registration;
const pushes = new WorkerPushes(self);
/** One cache for each build and page: two machines behind a relay share an origin. */
const CACHE = `${CACHE_PREFIX}${new URL(scope).pathname} ${FILES.join(" ")}`;

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (isPage(request, scope)) event.respondWith(loadPage(event));
  else if (isFile(request, scope, FILES)) event.respondWith(loadFile(request));
});
self.addEventListener(
  "push",
  (event) => event.waitUntil(pushes.received(event.data?.text())),
);
self.addEventListener("notificationclick", (event) => event.waitUntil(pushes.chosen(event)));
self.addEventListener("notificationclose", (event) => event.waitUntil(pushes.dismissed(event)));
self.addEventListener(
  "pushsubscriptionchange",
  (event) => event.waitUntil(pushes.renewed(event)),
);

/** Caches the page and its files. Fails if one is missing, and is then tried again later. */
async function install(): Promise<void> {
  const cache = await caches.open(CACHE);
  const page = await fetch(scope, { redirect: "error", cache: "no-store" });
  if (!page.ok) throw new Error(`The page answers ${page.status}`);
  await cache.put(scope, page);
  await cache.addAll(FILES.map((file) => `${scope}/${file}`));
  await self.skipWaiting();
}

/** Removes the caches of earlier builds of this page. */
async function activate(): Promise<void> {
  const own = `${CACHE_PREFIX}${new URL(scope).pathname} `;
  const names = await caches.keys();
  const old = names.filter((name) => name.startsWith(own) && name !== CACHE);
  await Promise.all(old.map((name) => caches.delete(name)));
  await self.registration.navigationPreload.enable();
  await self.clients.claim();
}

/**
 * The network first: the browser's own request carries the proof of the navigation. A proxy may
 * answer for a relay that is down.
 */
async function loadPage({ request, preloadResponse }: RequestEvent): Promise<Response> {
  const kept = () => caches.match(scope, { cacheName: CACHE });
  try {
    const answer = await preloadResponse ?? await fetch(request);
    return answer.status < SERVER_ERROR_MIN ? answer : await kept() ?? answer;
  } catch (error) {
    const page = await kept();
    if (page) return page;
    throw error;
  }
}

/** A file's name changes with its content, so a cached file is always current. */
async function loadFile(request: Request): Promise<Response> {
  return await caches.match(request, { cacheName: CACHE }) ?? await fetch(request);
}
