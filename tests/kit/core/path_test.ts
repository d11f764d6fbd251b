/** Functions of paths return what those of `node:path` return. */

import assert from "node:assert/strict";
import posix from "node:path/posix";
import fc from "fast-check";
import { basename, dirname, isAbsolute, join, resolve } from "kit/core/path.ts";

const word = fc.constantFrom("", "/", "//", ".", "..", "a", "b.c", "~", " ", "\n", "ü");
const path = fc.array(word, { maxLength: 8 }).map((words) => words.join("/"));
const glued = fc.array(word, { maxLength: 8 }).map((words) => words.join(""));
const any = fc.oneof(path, glued, fc.string());

Deno.test("paths are joined and normalized as node:path does", () => {
  fc.assert(fc.property(fc.array(any, { maxLength: 4 }), (parts) => {
    assert.equal(join(...parts), posix.join(...parts));
  }));
});

Deno.test("paths are resolved from an absolute one as node:path does", () => {
  fc.assert(fc.property(any, fc.array(any, { maxLength: 3 }), (base, parts) => {
    assert.equal(resolve(`/${base}`, ...parts), posix.resolve(`/${base}`, ...parts));
  }));
});

Deno.test("folder and name of a path, and whether it is absolute, are those of node:path", () => {
  fc.assert(fc.property(any, (path) => {
    const plain = path.replace(/^\/+/, "/"); // POSIX leaves two slashes at the beginning open.
    assert.equal(dirname(plain), posix.dirname(plain));
    assert.equal(basename(path), posix.basename(path));
    assert.equal(isAbsolute(path), posix.isAbsolute(path));
  }));
});
