/** QR codes: their squares, and their largest text. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type Squares, squaresOf } from "protocol/derived/qr_squares.ts";

/** Read back by another program, jsQR 1.4.0. */
const MESH = `
#######....##.#######
#.....#.#...#.#.....#
#.###.#...#...#.###.#
#.###.#....##.#.###.#
#.###.#.##.##.#.###.#
#.....#..###..#.....#
#######.#.#.#.#######
..........#..........
#.#.#.#...#.#...#..#.
...#...#..##.#.#...##
..##.##.#.##.###.####
##.....###.###.##....
#.########.#.###.#.#.
........##....#..#.##
#######..##.#...##.##
#.....#.......#....#.
#.###.#.##..#.#.#..##
#.###.#..#.#.#.#.###.
#.###.#.#..#.###..#.#
#.....#...####.###.#.
#######.#..#.###..###
`;

function digestOf(squares: Squares): string {
  const text = squares.map((row) => row.map(Number).join("")).join("\n");
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

Deno.test("the code of a short text has 21 squares a side", () => {
  const rows = squaresOf("mesh")?.map((row) => row.map((dark) => dark ? "#" : ".").join(""));
  assert.equal(`\n${rows?.join("\n")}\n`, MESH);
});

/** Each was compared, square by square, with the code of qrcode-generator 2.0.4. */
// deno-fmt-ignore
const LONGER: readonly [length: number, version: number, digest: string][] = [
  [19, 2, "5593c8cbb006e5ab"], [30, 3, "7ae0003517e2f06e"], [43, 4, "1f4d2e04b148eb84"],
  [63, 5, "fcc8278569d63b26"], [99, 6, "e26413aa44949e48"], [107, 7, "f461d081f0015b88"],
  [156, 9, "f029cf37f9e74669"], [181, 10, "6f87f0f4e0a3a510"], [294, 13, "7feb317e2fc1fe74"],
];
for (const [length, version, digest] of LONGER) {
  Deno.test(`a text of ${length} bytes has a code of version ${version}`, () => {
    const squares = squaresOf("x".repeat(length));
    assert.equal(squares?.length, 17 + 4 * version);
    assert.equal(digestOf(squares), digest);
  });
}

Deno.test("a text of 666 bytes has a code, and a longer one has none", () => {
  assert.equal(squaresOf("é".repeat(333))?.length, 97);
  assert.equal(squaresOf(`${"é".repeat(333)}x`), undefined);
});
