/** Responses of daemons under the relay's origin: data and downloads, never a page. */

import assert from "node:assert/strict";
import { ScriptedDaemon } from "../../support/relay/scripted_daemon.ts";
import {
  daemonId,
  NAMESPACE,
  RELAY,
  type RelayWorld,
  relayWorld,
  SECRET,
} from "../../support/relay/relay_world.ts";

const COOKIE = "mesh=a-random-id";
const SIGNED_IN = { cookie: COOKIE, "sec-fetch-site": "same-origin" };
const POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'";
const PAGE = "<!doctype html><script>document.title = 'evil'</script>";

type Pairs = [name: string, value: string][];

interface ScriptedResponse {
  readonly status?: number;
  readonly headers?: Pairs;
  readonly body?: string | null;
}

/** A daemon that answers every request with this response. */
async function maliciousDaemon(r: RelayWorld, scripted: ScriptedResponse): Promise<ScriptedDaemon> {
  const { status = 200, headers = [], body = PAGE } = scripted;
  const address = RELAY.replace("https", "wss");
  const daemon = ScriptedDaemon.openSocket(r.openSocket, {
    address,
    secret: SECRET,
    daemon_id: daemonId(1),
  });
  daemon.on = (frame) => {
    if (frame.type !== "request") return;
    const { id } = frame;
    daemon.sendFrame({ type: "response", id, status, headers, body: body !== null });
    if (body === null) return;
    daemon.sendChunk(id, new TextEncoder().encode(body));
    daemon.sendFrame({ type: "end", id });
  };
  await daemon.whenOpened;
  await r.clock.settle();
  return daemon;
}

/** A malicious daemon's response, as a signed-in browser receives it. */
async function fetchFromMalicious(
  scripted: ScriptedResponse,
  path = "/peers",
  headers: Record<string, string> = {},
) {
  await using r = relayWorld();
  const daemon = await maliciousDaemon(r, scripted);
  r.sessions.set(COOKIE, NAMESPACE);
  const init = { headers: { ...SIGNED_IN, ...headers } };
  const answer = await r.fetch(`/m/${daemonId(1)}${path}`, init);
  const asked = daemon.of("request").length;
  return { status: answer.status, headers: answer.headers, text: await answer.text(), asked };
}

const OWN_POLICY: Pairs = [["content-security-policy", "default-src * 'unsafe-inline'"]];

Deno.test("a daemon's own policy does not replace the relay's sandbox [c9.tunnel.no-pages]", async () => {
  const { headers } = await fetchFromMalicious({
    headers: [...OWN_POLICY, ["content-type", "text/html"]],
  });
  assert.equal(headers.get("content-security-policy"), POLICY);
  assert.equal(headers.get("x-content-type-options"), "nosniff");
});

Deno.test("a response is never cached, even if the daemon allows it [c9.tunnel.no-pages]", async () => {
  const { headers } = await fetchFromMalicious({
    headers: [["cache-control", "public, max-age=31536000"]],
  });
  assert.equal(headers.get("cache-control"), "no-store");
});

Deno.test("a stream of events through the tunnel is neither cached, changed nor held back by proxies [c9.tunnel.no-pages]", async () => {
  const { headers } = await fetchFromMalicious({
    headers: [["content-type", "text/event-stream; charset=utf-8"]],
  });
  assert.equal(headers.get("cache-control"), "no-store, no-transform");
  assert.equal(headers.get("x-accel-buffering"), "no");
  const { headers: other } = await fetchFromMalicious({ headers: [["x-accel-buffering", "no"]] });
  assert.equal(other.get("x-accel-buffering"), null);
});

Deno.test("headers that affect the relay's origin do not pass [c9.tunnel.no-pages]", async () => {
  const acting: Pairs = [
    ["service-worker-allowed", "/"],
    ["set-cookie", "__Host-mesh=x; Path=/; Secure"],
    ["clear-site-data", '"*"'],
    ["refresh", "0; url=https://evil.test"],
    ["location", "https://evil.test"],
    ["link", "</x.css>; rel=stylesheet"],
    ["access-control-allow-origin", "*"],
    ["content-encoding", "gzip"],
    ["www-authenticate", 'Basic realm="relay"'],
    ["strict-transport-security", "max-age=0"],
    ["alt-svc", 'h3=":443"'],
    ["speculation-rules", '"/x"'],
    ["sourcemap", "/x"],
    ["report-to", "{}"],
  ];
  const { headers } = await fetchFromMalicious({
    headers: [...acting, ["content-type", "application/json"]],
  });
  for (const [name] of acting) assert.equal(headers.get(name), null, name);
});

Deno.test("compressed data of a daemon passes to a browser that accepts its coding, unchanged", async () => {
  const zipped: Pairs = [["content-type", "application/json"], ["content-encoding", "gzip"]];
  const fetchAs = (accepted: string, scripted = zipped) =>
    fetchFromMalicious({ headers: scripted, body: "zipped" }, "/peers", {
      "accept-encoding": accepted,
    });
  const passed = await fetchAs("br, gzip");
  assert.deepEqual([passed.headers.get("content-encoding"), passed.text], ["gzip", "zipped"]);
  assert.equal(passed.headers.get("vary"), "accept-encoding");
  assert.equal((await fetchAs("br")).headers.get("content-encoding"), null);
  const other: Pairs = [["content-type", "application/json"], ["content-encoding", "br"]];
  assert.equal((await fetchAs("br, gzip", other)).headers.get("content-encoding"), null);
});

// deno-fmt-ignore
const TYPES: readonly [scripted: Pairs, type: string, disposition: string | null][] = [
  [[["content-type", "application/json"]],                        "application/json",         null],
  [[["content-type", "Application/JSON; charset=utf-16"]],        "application/json",         null],
  [[["content-type", "application/problem+json"]],                "application/problem+json", null],
  [[["content-type", "text/event-stream; charset=utf-8"]],        "text/event-stream",        null],
  [[["content-type", "text/html"]],                               "application/octet-stream", "attachment"],
  [[["content-type", "TEXT/HTML;charset=utf-8"]],                 "application/octet-stream", "attachment"],
  [[["content-type", "text/html;application/json"]],              "application/octet-stream", "attachment"],
  [[["content-type", "application/json, text/html"]],             "application/octet-stream", "attachment"],
  [[["content-type", "text/html, application/json"]],             "application/octet-stream", "attachment"],
  [[["content-type", "application/json"], ["content-type", "text/html"]], "application/octet-stream", "attachment"],
  [[["content-type", "application/json\ttext/html"]],             "application/octet-stream", "attachment"],
  [[["content-type", "text/html+json"]],                          "application/octet-stream", "attachment"],
  [[["content-type", "application/xhtml+xml"]],                   "application/octet-stream", "attachment"],
  [[["content-type", "application/xml"]],                         "application/octet-stream", "attachment"],
  [[["content-type", "image/svg+xml"]],                           "application/octet-stream", "attachment"],
  [[["content-type", "text/javascript"]],                         "application/octet-stream", "attachment"],
  [[["content-type", "application/wasm"]],                        "application/octet-stream", "attachment"],
  [[["content-type", "text/css"]],                                "application/octet-stream", "attachment"],
  [[["content-type", "multipart/x-mixed-replace; boundary=x"]],   "application/octet-stream", "attachment"],
  [[["content-type", "application/pdf"]],                         "application/pdf",          "attachment"],
  [[["content-type", "text/plain"]],                              "text/plain",               "attachment"],
  [[["content-type", "image/png"]],                               "image/png",                "attachment"],
  [[["content-type", "*/*"]],                                     "application/octet-stream", "attachment"],
  [[["content-type", ""]],                                        "application/octet-stream", "attachment"],
  [[],                                                            "application/octet-stream", "attachment"],
];

for (const [scripted, type, disposition] of TYPES) {
  const name = scripted.map(([, value]) => value).join(" and ") || "no type";
  Deno.test(`${name} reaches a browser as ${type}${disposition ? ", to download" : ""} [c9.tunnel.no-pages]`, async () => {
    const { headers } = await fetchFromMalicious({
      headers: [...scripted, ["content-disposition", "inline"]],
    });
    assert.equal(headers.get("content-type"), type);
    assert.equal(headers.get("content-disposition"), disposition);
    assert.equal(headers.get("content-security-policy"), POLICY);
  });
}

// deno-fmt-ignore
const NAMES: readonly [scripted: string, name: string | undefined][] = [
  ['attachment; filename="plan.pdf"',                     "plan.pdf"],
  ["attachment; filename=plan.pdf",                       "plan.pdf"],
  [`attachment; filename="b_t.md"; filename*=UTF-8''b%C3%A4t.md`, "bät.md"],
  ['ATTACHMENT; FileName="a b.txt"',                      "a b.txt"],
  ['inline; filename="x.html"',                           "x.html"],
  ['attachment; filename="../../etc/passwd"',             "passwd"],
  ['attachment; filename="C:\\\\x\\\\evil.txt"',          "evil.txt"],
  ["attachment; filename*=UTF-8''..%2F..%2Fevil.sh",      "evil.sh"],
  ["attachment; filename*=UTF-8''gnp%E2%80%AEexe.md",     "gnpexe.md"],
  ['attachment; filename=".bashrc"',                      "bashrc"],
  ["attachment; filename*=UTF-8''%ZZ",                    undefined],
  ["attachment; filename*=iso-8859-1''x",                 undefined],
  ['attachment; filename="x"; filename="y"',              undefined],
  ['attachment; filename="unclosed',                      undefined],
  ["form-data; name=x",                                   undefined],
  [`attachment; filename="${"x".repeat(4000)}"`,          undefined],
];

for (const [scripted, name] of NAMES) {
  Deno.test(`a download described as ${scripted.slice(0, 80)} is saved as ${name ?? "the browser likes"}`, async () => {
    const { headers } = await fetchFromMalicious({
      headers: [["content-type", "image/png"], ["content-disposition", scripted]],
    });
    const described = headers.get("content-disposition") ?? "";
    const [, plain, encoded] =
      /^attachment; filename="([\w .~-]+)"; filename\*=UTF-8''([\w.~%-]+)$/.exec(described) ?? [];
    if (name === undefined) return assert.equal(described, "attachment");
    assert.equal(decodeURIComponent(encoded ?? ""), name);
    assert.equal(plain, name.replaceAll(/[^\w .~-]/g, "_"));
  });
}

Deno.test("JSON with an attachment disposition is a download", async () => {
  const { headers } = await fetchFromMalicious({
    headers: [["content-type", "application/json"], ["content-disposition", "attachment"]],
  });
  assert.equal(headers.get("content-type"), "application/json");
  assert.equal(headers.get("content-disposition"), "attachment");
});

for (const status of [300, 301, 302, 303, 307, 308]) {
  Deno.test(`a redirect by a daemon (${status}) is refused without its content`, async () => {
    const answer = await fetchFromMalicious({
      status,
      headers: [["location", "https://evil.test/"]],
    });
    assert.equal(answer.status, 502);
    assert.equal(JSON.parse(answer.text).error, "bad_daemon_answer");
    assert.equal(answer.headers.get("location"), null);
  });
}

for (const status of [204, 205, 304]) {
  Deno.test(`an answer ${status} has no body, whatever the daemon sends after it`, async () => {
    const answer = await fetchFromMalicious({ status, headers: [["content-type", "text/html"]] });
    assert.equal(answer.status, status);
    assert.equal(answer.text, "");
    assert.equal(answer.headers.get("content-type"), null);
    assert.equal(answer.headers.get("content-security-policy"), POLICY);
  });
}

Deno.test("an error page of a daemon is a download, too", async () => {
  const { status, headers } = await fetchFromMalicious({
    status: 500,
    headers: [["content-type", "text/html"]],
  });
  assert.equal(status, 500);
  assert.equal(headers.get("content-type"), "application/octet-stream");
  assert.equal(headers.get("content-disposition"), "attachment");
});

// deno-fmt-ignore
const OWN_PATHS: readonly [path: string, status: number][] = [
  ["/dashboard", 200], ["/%64ashboard", 200], // The relay's own page.
  ["/dashboard/", 404], ["/dashboard/app.js", 404], ["//dashboard", 404],
];
for (const [path, status] of OWN_PATHS) {
  Deno.test(`a daemon cannot provide ${path}, which is the relay's own [c9.tunnel.no-pages]`, async () => {
    const answer = await fetchFromMalicious({
      headers: [["content-type", "text/html"], ...OWN_POLICY],
    }, path);
    assert.equal(answer.status, status);
    assert.equal(answer.asked, 0);
    assert.ok(!answer.text.includes("evil"));
  });
}

Deno.test("a script of a daemon cannot become a service worker [c9.tunnel.no-pages]", async () => {
  const script = { headers: [["content-type", "text/javascript"]] as Pairs, body: "self.x = 1" };
  const answer = await fetchFromMalicious(script, "/sw.js", { "service-worker": "script" });
  assert.equal(answer.status, 403);
  assert.equal(JSON.parse(answer.text).error, "not_for_embedding");
  assert.equal(answer.asked, 0);
});

// deno-fmt-ignore
const DESTINATIONS: readonly [dest: string, status: number][] = [
  ["empty", 200], ["document", 200], ["image", 200], ["video", 200], ["audio", 200],
  ["script", 403], ["style", 403], ["worker", 403], ["sharedworker", 403], ["serviceworker", 403],
  ["iframe", 403], ["frame", 403], ["object", 403], ["embed", 403], ["xslt", 403], ["manifest", 403],
];

for (const [dest, status] of DESTINATIONS) {
  Deno.test(`a machine's answer as ${dest} of a page is ${status === 200 ? "given" : "refused"}`, async () => {
    const json: Pairs = [["content-type", "application/json"]];
    const answer = await fetchFromMalicious({ headers: json }, "/peers", {
      "sec-fetch-dest": dest,
    });
    assert.equal(answer.status, status);
  });
}
