/** Requests that the service worker answers. */

import assert from "node:assert/strict";
import { isFile, isPage } from "../../../dashboard/parts/worker_requests.ts";

const SCOPE = "https://relay.example/m/dm-000000000001/dashboard";
const FILES = ["assets/dashboard.0011.js"];

Deno.test("the worker answers a navigation to its page, whatever the view or the query", () => {
  const page = (url: string) => isPage({ url, mode: "navigate", method: "GET" }, SCOPE);
  for (const end of ["", "#/log", "?x=1", "?x=1#/log"]) assert.ok(page(SCOPE + end), end);
  for (const end of ["2", "/session", "/"]) assert.ok(!page(SCOPE + end), end);
  assert.ok(!isPage({ url: SCOPE, mode: "cors", method: "GET" }, SCOPE));
  assert.ok(!isPage({ url: SCOPE, mode: "navigate", method: "POST" }, SCOPE));
});

Deno.test("the worker answers for its own build's files only, and never for data", () => {
  const file = (path: string) =>
    isFile({ url: SCOPE + path, mode: "cors", method: "GET" }, SCOPE, FILES);
  assert.ok(file("/assets/dashboard.0011.js"));
  for (const path of ["/assets/dashboard.0022.js", "/session", "/assets/dashboard.0011.js?x"]) {
    assert.ok(!file(path), path);
  }
});
