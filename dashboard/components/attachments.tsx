/** Files of messages: pictures and the beginnings of texts are shown, and each can be saved. */

import { useEffect, useState } from "preact/hooks";
import { LOAD_MS_MAX, PREFIX, within } from "../state/calls.ts";
import type { Attachment, FileFacts } from "../state/records.ts";
import { Failed } from "./basics.tsx";
import { visible } from "./text/visible.tsx";
import { now } from "../state/clock.ts";

/** Pictures that a browser decodes and in which nothing runs; larger ones are only saved. */
const PICTURE = /^image\/(?:png|jpeg|gif|webp|avif|bmp)$/;
const PICTURE_BYTES_MAX = 10 * 1_048_576;
const TEXT = /^(?:text\/[\w.+-]+|application\/(?:json|x-yaml|yaml|toml|sql|x-sh|x-ndjson|jsonl))$/;
const TEXT_NAME =
  /\.(?:txt|md|log|csv|tsv|json|jsonl|ya?ml|toml|ini|conf|sql|diff|patch|sh|ts|tsx|js|jsx|py|rs|go|java|c|h|cpp|rb|css|html|xml)$/i;
/** Maximum bytes of a text that are shown. */
const TEXT_BYTES_MAX = 16_384;

export function Attachments({ of }: { of: readonly Attachment[] }) {
  if (of.length === 0) return null;
  return (
    <ul class="attachments cluster">
      {of.map((file) => (
        <li key={file.id}>
          <File file={file} />
        </li>
      ))}
    </ul>
  );
}

export function addressOf(id: string): string {
  return `${PREFIX}/attachments/${encodeURIComponent(id)}`;
}

export function isPicture({ content_type, size }: FileFacts): boolean {
  return PICTURE.test(content_type) && size <= PICTURE_BYTES_MAX;
}

/** The daemon names a type that could run a program `application/octet-stream`. */
export function isText({ content_type, filename }: FileFacts): boolean {
  return TEXT.test(content_type) || TEXT_NAME.test(filename);
}

function File({ file }: { file: Attachment }) {
  const [open, setOpen] = useState(false);
  const expired = Date.parse(file.expires_at) <= now.value;
  return (
    <>
      {isPicture(file) && !expired && <Picture file={file} />}
      <span class="file cluster">
        <a href={addressOf(file.id)} download={file.filename}>
          <bdi>{visible(file.filename)}</bdi>
        </a>
        <span class="hint">{expired ? "expired" : bytes(file.size)}</span>
        {isText(file) && !expired && (
          <button
            type="button"
            class="quiet"
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          >
            Preview
          </button>
        )}
      </span>
      {open && <TextStart file={file} />}
    </>
  );
}

/** The picture, until it cannot be loaded; it may have been deleted. */
function Picture({ file: { id, filename } }: { file: FileFacts }) {
  const [broken, setBroken] = useState(false);
  if (broken) return <span class="hint">It cannot be shown.</span>;
  return (
    <a href={addressOf(id)} download={filename}>
      <img
        class="picture"
        src={addressOf(id)}
        alt={`Attached picture ${filename}`}
        loading="lazy"
        decoding="async"
        onError={() => setBroken(true)}
      />
    </a>
  );
}

interface Start {
  readonly text: string;
  readonly whole: boolean;
}

function TextStart({ file }: { file: FileFacts }) {
  const [start, setStart] = useState<Start>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    within(LOAD_MS_MAX, "Try again.", (signal) => readStart(file.id, signal))
      .then(setStart, setError);
  }, [file.id]);
  if (error !== undefined) return <Failed error={error} />;
  if (!start) return <p class="hint" role="status">Loading…</p>;
  return (
    <div class="code inset">
      <pre
        tabIndex={0}
        role="region"
        aria-label={`Beginning of ${file.filename}`}
      >{visible(start.text)}</pre>
      {!start.whole && <p class="hint code-tools cluster">Only the beginning is shown.</p>}
    </div>
  );
}

/** The beginning of a file; the rest of it is not loaded. */
async function readStart(id: string, signal: AbortSignal): Promise<Start> {
  const response = await fetch(addressOf(id), { signal });
  if (!response.ok || !response.body) {
    await response.body?.cancel();
    throw new Error("The file is gone: it expired, or somebody deleted it.");
  }
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "", read = 0;
  while (read < TEXT_BYTES_MAX) {
    const { value, done } = await reader.read();
    if (done) return { text: text + decoder.decode(), whole: true };
    read += value.length;
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  return { text: text.slice(0, TEXT_BYTES_MAX), whole: false };
}

export function bytes(size: number): string {
  if (size < 1024) return `${size} B`;
  return size < 1_048_576 ? `${Math.round(size / 1024)} kB` : `${(size / 1_048_576).toFixed(1)} MB`;
}
