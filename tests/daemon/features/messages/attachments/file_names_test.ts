/** Cleaning of filenames and media types, which callers choose freely. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  cleanFilename,
  cleanMediaType,
  extensionOf,
  toContentDisposition,
} from "kit/http/filenames.ts";
import { world } from "../../../../support/world.ts";
import { formLines, postRawForm, upload } from "../../../../support/daemon/uploads.ts";

// deno-fmt-ignore
const NAMES: readonly [given: string, kept: string][] = [
  ["report.pdf",                    "report.pdf"],
  ["Grüße aus Köln.txt",            "Grüße aus Köln.txt"],
  ["日本語.png",                     "日本語.png"],
  ["Gru\u0308\u00dfe.txt",          "Grüße.txt"],
  ["",                              "file"],
  [".",                             "file"],
  ["..",                            "file"],
  ["../../etc/passwd",              "passwd"],
  ["..\\..\\windows\\system.ini",   "system.ini"],
  ["/etc/passwd",                   "passwd"],
  ["C:\\Users\\sam\\a.txt",         "a.txt"],
  ["C:a.txt",                       "C_a.txt"],
  ["a.txt/",                        "file"],
  [".bashrc",                       "bashrc"],
  ["-rf",                           "rf"],
  ["~root",                         "root"],
  ["a\0b.txt",                      "ab.txt"],
  ["a\r\nSet-Cookie: x.txt",        "a Set-Cookie_ x.txt"],
  ["a\u202etxt.exe",                "atxt.exe"],
  ["a\u200b.txt",                   "a.txt"],
  ["\ud800.txt",                    "txt"],
  ['a"; filename="b.html',          "a_; filename=_b.html"],
  ["<script>.txt",                  "_script_.txt"],
  ["con",                           "_con"],
  ["NUL.txt",                       "_NUL.txt"],
  ["com1.tar.gz",                   "_com1.tar.gz"],
  ["console.log",                   "console.log"],
  ["a.txt. . .",                    "a.txt"],
  ["a   b\tc.txt",                  "a b c.txt"],
];
for (const [given, kept] of NAMES) {
  Deno.test(`the filename ${JSON.stringify(given)} is stored as ${JSON.stringify(kept)}`, () => {
    assert.equal(cleanFilename(given), kept);
  });
}

const anything = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme", maxLength: 400 }),
  fc.array(
    fc.constantFrom("..", "/", "\\", ".", " ", "-", "con", "\r\n", '"', "%", "é", "🦊", "\0"),
  )
    .map((parts) => parts.join("")),
);

Deno.test("every cleaned filename has no path, is short and visible, and is stable", () => {
  fc.assert(
    fc.property(anything, (given) => {
      const name = cleanFilename(given);
      assert.ok(name.length > 0 && new TextEncoder().encode(name).length <= 200);
      assert.doesNotMatch(name, /[/\\<>:"|?*\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
      assert.doesNotMatch(name, /^[.\s~-]|[.\s]$/u);
      assert.equal(cleanFilename(name), name);
      assert.match(extensionOf(name), /^(\.[a-z0-9]{1,8})?$/);
      const contentDisposition =
        /^attachment; filename="([\w .~-]+)"; filename\*=UTF-8''([\w.~%-]+)$/
          .exec(toContentDisposition(name));
      assert.equal(contentDisposition?.[1]?.length, name.length);
      assert.equal(decodeURIComponent(contentDisposition?.[2] ?? ""), name);
    }),
    { numRuns: 20000 },
  );
});

Deno.test("a long name keeps its extension", () => {
  const name = cleanFilename(`${"ä".repeat(300)}.tar`);
  assert.ok(name.endsWith("ä.tar"));
  assert.equal(new TextEncoder().encode(name).length, 200);
});

// deno-fmt-ignore
const ACTIVE = [
  "text/html", "TEXT/HTML; charset=utf-8", "application/xhtml+xml", "image/svg+xml", "text/xml",
  "application/xml", "application/atom+xml", "text/javascript", "application/x-javascript",
  "application/ecmascript", "text/vbscript", "text/css", "multipart/mixed", "message/rfc822",
  "application/x-shockwave-flash", "application/java-archive", "text/xsl",
  "", "html", "text", "text/", "/plain", "text/plain\r\nx: y", "a/b/c", `a/${"b".repeat(99)}`, "*/*", "text/ pl",
];
for (const type of ACTIVE) {
  Deno.test(`the media type ${JSON.stringify(type.slice(0, 40))} is replaced by bytes`, () => {
    assert.equal(cleanMediaType(type), "application/octet-stream");
  });
}

// deno-fmt-ignore
const PLAIN: readonly [string, string][] = [
  ["text/plain", "text/plain"], ["Text/Markdown; charset=UTF-8", "text/markdown"],
  ["image/png", "image/png"], ["application/pdf", "application/pdf"], [" application/json ", "application/json"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document",
   "application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
];
for (const [given, kept] of PLAIN) {
  Deno.test(`the media type ${JSON.stringify(given)} is stored as ${kept}`, () => {
    assert.equal(cleanMediaType(given), kept);
  });
}

Deno.test("an HTML file is served as bytes, under its cleaned name", async () => {
  await using w = world();
  const page = "<script>alert(1)</script>";
  const file = await upload(w, page, { name: "../página.html", type: "text/html" });
  const answer = await w.fetch(`/attachments/${file.id}`);
  assert.equal(await answer.text(), page);
  assert.equal(answer.headers.get("content-type"), "application/octet-stream");
  assert.equal(
    answer.headers.get("content-disposition"),
    `attachment; filename="p_gina.html"; filename*=UTF-8''p%C3%A1gina.html`,
  );
});

// deno-fmt-ignore
const DISPOSITIONS: readonly [contentDisposition: string, kept: string][] = [
  ['form-data; name="file"; filename="a%22b%0D%0Ac.txt"',    "a_b c.txt"],
  ['form-data; name="file"; filename="a\\"b.txt"',           "a_b.txt"],
  ['form-data; name=file; filename=a.txt',                   "a.txt"],
  ['FORM-DATA; NAME="file"; FILENAME="a.txt"',               "a.txt"],
  ['form-data; filename="a;b.txt"; name="file"',             "a;b.txt"],
  ['form-data; name="file"; filename=""',                    "file"],
];
for (const [contentDisposition, kept] of DISPOSITIONS) {
  Deno.test(`a part with ${contentDisposition} has the filename ${kept}`, async () => {
    await using w = world();
    assert.equal(
      (await (await postRawForm(w, formLines(contentDisposition))).json()).filename,
      kept,
    );
  });
}
