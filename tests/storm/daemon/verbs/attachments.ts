/** Verbs about attachments: files are stored, read and deleted. */

import assert from "node:assert/strict";
import * as z from "zod";
import type { Storm, Verb } from "../storm.ts";

// deno-fmt-ignore
export const ATTACHMENT_VERBS: readonly Verb[] = [
  { name: "store a file",  weight: 12, run: store },
  { name: "read a file",   weight: 6,  run: read },
  { name: "delete a file", weight: 8,  run: (storm) => storm.remove(`/attachments/${pickFile(storm)}`) },
];

/** A recent file, which may be gone. */
function pickFile({ chance, files }: Storm): string {
  return files.size > 0 ? chance.pick([...files.keys()].slice(-5)) : "att-0";
}

async function store(storm: Storm): Promise<void> {
  const content = storm.nextText();
  const body = new FormData();
  body.set("file", new File([content], "notes.txt", { type: "text/plain" }));
  const { http, id } = await storm.post("/attachments", {}, { body });
  assert.equal(http, 200);
  storm.files.set(String(id), content);
}

/** A stored file has the bytes that it was stored with, until it is deleted or expires. */
async function read(storm: Storm): Promise<void> {
  const id = pickFile(storm);
  const { db, clock } = storm.w.daemon.ctx;
  const sql = "select 1 from attachments where id = :id and expires_at > :now";
  const isStored = db.value(z.number(), sql, { id, now: clock.now() }) !== undefined;
  const response = await storm.w.fetch(`/attachments/${id}`);
  const content = await response.text();
  if (response.ok) assert.equal(content, storm.files.get(id), `${id} is another file`);
  // A restore brings records back, but no files.
  else assert.ok(!isStored || storm.runs.hasGoneBack, `${id} is lost: ${content}`);
}
