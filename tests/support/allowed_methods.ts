/** Checks `Allow` of all routes: it names exactly the methods that a path accepts. */

import assert from "node:assert/strict";

const METHODS = ["GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS", "PROPFIND"];

/** Sends a request. Undefined if the answer waits for something; a refused method never waits. */
type Send = (method: string, path: string) => Promise<Response | undefined>;

/** Sends every method to every path. Parameters in `paths` get a value that names nothing. */
export async function assertAllowedMethods(paths: Iterable<string>, send: Send): Promise<void> {
  for (const path of new Set(paths)) {
    const url = path.replaceAll(/:\w+|\{\w+\}|\*/g, "none-0000");
    const allow = (await send("PUT", url))?.headers.get("allow");
    assert.ok(allow, `PUT ${path}`);
    const allowed = new Set(allow.split(", "));
    assert.equal(allowed.has("HEAD"), allowed.has("GET"), `${path}: ${allow}`);
    for (const method of METHODS) {
      const answer = await send(method, url);
      await answer?.body?.cancel();
      assert.equal(answer?.status === 405, !allowed.has(method), `${method} ${path}: ${allow}`);
      if (answer?.status === 405) assert.equal(answer.headers.get("allow"), allow);
    }
  }
}
