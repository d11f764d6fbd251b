/** A name in a path is a name, also if another route has the same word there. */

import assert from "node:assert/strict";
import { closePeer, getPeer, listTurns } from "protocol/peers/contract.ts";
import type { Contract } from "kit/http/contract.ts";
import { serve } from "kit/http/serve.ts";
import { relayFixture } from "../../support/relay/composed_relay.ts";
import { addPeer } from "../../support/daemon/peer_clients.ts";
import { world } from "../../support/world.ts";

/** Routes whose literal path is in the place of an id, which has a form of its own. */
const NOT_AN_ID: Readonly<Record<string, string>> = {
  "GET /asks/pending": "asks.get",
  "GET /asks/history": "asks.get",
};

/** Parameters that are never a word. */
const IDS: readonly string[] = [":pane_id", ":parent_id"];

/** Serves contracts; each answers with its id. */
function recorders(contracts: readonly Contract[]) {
  const routes = contracts.map((contract) => ({
    contract,
    run: () => Response.json({ id: contract.id }),
  }));
  const fetch = serve(routes, {
    admit: () => {},
    authorize: () => ({ remote: undefined, human: false, authorized: true, holds_token: false }),
    whenDurable: () => undefined,
    error: (error) => assert.fail(String(error)),
  });
  return async (method: string, path: string): Promise<string> => {
    const response = await fetch(new Request(`http://mesh.test${path}`, { method }));
    return (await response.json()).id ?? `${response.status}`;
  };
}

/** Each route with each parameter set to each word that is in any path. */
async function assertNames(contracts: readonly Contract[]): Promise<void> {
  const idAt = recorders(contracts);
  const segments = contracts.flatMap((
    { path, described_path = path },
  ) => [...path.split("/"), ...described_path.split("/")]);
  const words = [...new Set(segments)].filter((word) => /^[a-z]/.test(word));
  assert.ok(words.length > 5);
  for (const { id, method, path } of contracts) {
    for (const name of path.match(/:\w+/g)?.filter((each) => !IDS.includes(each)) ?? []) {
      for (const word of words) {
        const url = path.replace(name, word).replaceAll(/:\w+|\*/g, "none-0000");
        if (NOT_AN_ID[`${method} ${url}`] !== id) assert.equal(await idAt(method, url), id, url);
      }
    }
  }
}

Deno.test("no name is hidden by a route of the daemon that has this word in its path", async () => {
  await using w = world();
  await assertNames(w.daemon.routes.map(({ contract }) => contract));
});

Deno.test("no name is hidden by a route of the relay that has this word in its path", async () => {
  await using at = relayFixture();
  await assertNames(at.features.routes.map(({ contract }) => contract));
});

Deno.test("peers named prune, by-pane or identity are shown, read and closed by name", async () => {
  await using w = world();
  for (const name of ["prune", "by-pane", "identity", "none"]) {
    const { peer_id } = await addPeer(w, name);
    const named = { params: { id: name }, query: {} };
    assert.equal((await w.call(getPeer, named)).peer_id, peer_id);
    assert.deepEqual((await w.call(listTurns, named)).turns, []);
    await w.call(closePeer, named);
    await assert.rejects(w.call(getPeer, named), { message: /^unknown_peer/ });
  }
});

Deno.test("a path that several routes share allows the methods of all of them", async () => {
  await using w = world();
  const { status, headers } = await w.fetch("/peers/prune", { method: "PUT" });
  assert.deepEqual([status, headers.get("allow")], [405, "DELETE, GET, HEAD, PATCH, POST"]);
});

Deno.test("a name that a URL cannot carry is refused", async () => {
  await using w = world();
  for (const name of [".", ".."]) {
    await assert.rejects(addPeer(w, name), { message: /^invalid_request/ }, name);
  }
  assert.equal((await addPeer(w, "...")).display_name, "...");
});
