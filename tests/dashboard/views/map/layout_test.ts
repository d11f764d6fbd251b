/** The layout of the map. */

import assert from "node:assert/strict";
import {
  curveOf,
  layoutMap,
  type Member,
  NODE,
  pointOn,
} from "../../../../dashboard/views/map/layout.ts";

function members(count: number, circles: number): Member[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `peer-${index}`,
    name: `agent-${index}`,
    circle: `circle-${index % circles}`,
  }));
}

/** The pairs of nodes whose room, with their names, overlaps. */
function findOverlaps(all: readonly Member[], width: number): string[] {
  const places = [...layoutMap(all, width).places.values()];
  return places.flatMap((a, index) =>
    places.slice(index + 1)
      .filter((b) =>
        Math.abs(a.x - b.x) < NODE.width - 0.01 && Math.abs(a.y - b.y) < NODE.height - 0.01
      )
      .map((b) => `${a.id} ${b.id}`)
  );
}

Deno.test("no node overlaps another, with 1 to 50 peers, on a phone and on a wide desktop", () => {
  for (const width of [320, 390, 800, 1140, 2400]) {
    for (const count of [1, 2, 3, 7, 12, 25, 50]) {
      for (const circles of [1, 3, 8]) {
        const all = members(count, circles);
        assert.deepEqual(findOverlaps(all, width), [], `${count} in ${circles} at ${width}`);
      }
    }
  }
});

Deno.test("every node is inside the map, and has a place", () => {
  for (const width of [320, 1140]) {
    const all = members(50, 4);
    const { places, height } = layoutMap(all, width);
    assert.equal(places.size, 50);
    for (const { x, y } of places.values()) {
      assert.ok(x >= NODE.width / 2 - 0.01 && x <= width - NODE.width / 2 + 0.01, `x ${x}`);
      assert.ok(y >= NODE.above && y <= height - NODE.height + NODE.above + 0.01, `y ${y}`);
    }
  }
});

Deno.test("the same peers in another order have the same places", () => {
  const all = members(23, 3);
  const places = (of: Member[]) =>
    [...layoutMap(of, 900).places].sort(([a], [b]) => a < b ? -1 : 1);
  assert.deepEqual(places(all.toReversed()), places(all));
});

Deno.test("a map without peers has no height", () => {
  assert.deepEqual([layoutMap([], 900).height, layoutMap([], 900).places.size], [0, 0]);
});

Deno.test("a curve begins and ends at its nodes, and the way back is another one", () => {
  const [a, b] = [{ id: "a", x: 0, y: 0 }, { id: "b", x: 100, y: 40 }];
  const there = curveOf(a, b), back = curveOf(b, a);
  assert.deepEqual([pointOn(there, 0), pointOn(there, 1)], [{ x: 0, y: 0 }, { x: 100, y: 40 }]);
  assert.notDeepEqual(pointOn(there, 0.5), pointOn(back, 0.5));
});

Deno.test("a circle without room for a ring has rows, and stays low", () => {
  const phone = layoutMap(members(50, 1), 390), desktop = layoutMap(members(50, 1), 1140);
  assert.ok(phone.height < 1400, `${phone.height}`);
  assert.deepEqual([phone.rings[0]?.columns, desktop.rings[0]?.columns], [3, 10]);
  assert.equal(layoutMap(members(20, 1), 1140).rings[0]?.columns, 0);
  assert.ok(desktop.height < 600, `${desktop.height}`);
});
