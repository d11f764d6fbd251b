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
var CACHE = `${CACHE_PREFIX}${new URL(scope).pathname} ${FILES.join(" ")}`;
self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (isPage(request, scope)) event.respondWith(loadPage(event));
  else if (isFile(request, scope, FILES)) event.respondWith(loadFile(request));
});
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(showPage());
});
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
async function showPage() {
  const windows = await self.clients.matchAll({
    type: "window"
  });
  const open = windows.find(({ url }) => url.split(/[?#]/, 1)[0] === scope);
  if (!open) return void await self.clients.openWindow(`${scope}#/attention`);
  open.postMessage("attention");
  await open.focus();
}
