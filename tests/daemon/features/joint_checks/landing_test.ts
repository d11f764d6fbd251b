/** The order of landing, the smallest failing parts, and files that concern each other. */

import assert from "node:assert/strict";
import * as fc from "fast-check";
import { sharedFiles } from "../../../../daemon/features/joint_checks/concerns.ts";
import {
  landingOrder,
  type LandingWork,
} from "../../../../daemon/features/joint_checks/landing.ts";
import { smallestParts } from "../../../../daemon/features/joint_checks/smallest.ts";

function work(name: string, fields: Partial<LandingWork> = {}): LandingWork {
  return { peer_id: name, name, files: 1, result: "passed", needs: [], ...fields };
}

function names(works: readonly LandingWork[], pairs: Parameters<typeof landingOrder>[1] = []) {
  return landingOrder(works, pairs).map(({ work: { name } }) => name);
}

Deno.test("work that passes lands first, then the smaller one", () => {
  const works = [work("c", { result: "failed" }), work("b", { files: 9 }), work("a")];
  assert.deepEqual(names(works), ["a", "b", "c"]);
});

Deno.test("work lands after what it imports, and a circle of imports does not block it", () => {
  assert.deepEqual(names([work("a", { needs: ["b"] }), work("b", { files: 9 })]), ["b", "a"]);
  assert.deepEqual(names([work("a", { needs: ["b"] }), work("b", { needs: ["a"] })]), ["a", "b"]);
});

Deno.test("work that fits with all others lands before work that does not", () => {
  const pairs = [{ peer_ids: ["a", "b"], result: "conflict" }] as const;
  assert.deepEqual(names([work("a"), work("b"), work("c", { files: 5 })], pairs), ["c", "a", "b"]);
  const [, second] = landingOrder([work("a"), work("b"), work("c")], pairs);
  assert.match(second?.reason ?? "", /does not fit with b/);
});

Deno.test("each work is in the order once", () => {
  const ids = fc.subarray(["a", "b", "c", "d", "e"]);
  fc.assert(fc.property(fc.array(ids, { minLength: 5, maxLength: 5 }), (needs) => {
    const works = ["a", "b", "c", "d", "e"].map((name, at) =>
      work(name, { needs: needs[at] ?? [] })
    );
    assert.deepEqual(names(works).toSorted(), ["a", "b", "c", "d", "e"]);
  }));
});

Deno.test("the smallest parts fail, and no smaller part of one of them does", async () => {
  const size = fc.integer({ min: 0, max: 30 });
  const input = fc.tuple(size, size, fc.nat(), fc.nat());
  await fc.assert(fc.asyncProperty(input, async ([first, second, a, b]) => {
    const cause = { first: a % (first + 1), second: b % (second + 1) };
    let runs = 0;
    const found = await smallestParts({ first, second }, (parts) => {
      runs++;
      return Promise.resolve(parts.first >= cause.first && parts.second >= cause.second);
    });
    assert.deepEqual(found, cause);
    assert.ok(runs <= 10);
  }));
});

Deno.test("a part that cannot be checked does not count as failing", async () => {
  const found = await smallestParts(
    { first: 3, second: 0 },
    ({ first }) => Promise.resolve(first === 3 ? true : undefined),
  );
  assert.deepEqual(found, { first: 3, second: 0 });
});

Deno.test("files concern each other by their paths, and by imports of their names", () => {
  const changed = (files: string[], ...lines: string[]) => ({
    files,
    imports: lines.map((line) => ({ path: files[0] ?? "", line })),
  });
  assert.deepEqual(sharedFiles(changed(["a.ts", "b.ts"]), changed(["b.ts"])), ["b.ts"]);
  const uses = changed(["app.py"], "from tools.money import sum");
  assert.deepEqual(sharedFiles(uses, changed(["src/money.py"])), ["src/money.py"]);
  assert.deepEqual(sharedFiles(changed(["src/money.py"]), uses), ["src/money.py"]);
  const folder = changed(["x.ts"], 'export * from "../money";');
  assert.deepEqual(sharedFiles(folder, changed(["lib/money/index.ts"])), ["lib/money/index.ts"]);
  assert.deepEqual(
    sharedFiles(changed(["x.ts"], 'import "./moneybag"'), changed(["money.ts"])),
    [],
  );
});
