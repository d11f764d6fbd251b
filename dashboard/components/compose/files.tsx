/** The files of a draft: attached, uploaded now, or refused. */

import { addressOf, bytes, isPicture } from "../attachments.tsx";
import { Icon } from "../icons/icon.tsx";
import type { DraftFile } from "./kept.ts";
import { useRef, useState } from "preact/hooks";
import { callWithForm, errorText } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";

export function DraftFiles({ files, uploads, remove, cancel }: {
  files: readonly DraftFile[];
  uploads: readonly Upload[];
  remove: (id: string) => void;
  cancel: (key: string) => void;
}) {
  if (files.length + uploads.length === 0) return null;
  return (
    <ul class="attachments cluster" aria-label="Files to send">
      {files.map((file) => (
        <li key={file.id}>
          {isPicture(file) && <img class="thumbnail" src={addressOf(file.id)} alt="" />}
          <span class="file cluster">
            <bdi>{file.filename}</bdi>
            <span class="hint">{bytes(file.size)}</span>
            <Remove name={file.filename} act={() => remove(file.id)} />
          </span>
        </li>
      ))}
      {uploads.map(({ key, filename, size, error }) => (
        <li key={key} class={error === undefined ? "" : "refused"}>
          <span class="file cluster">
            <bdi>{filename}</bdi>
            <span class="hint">{bytes(size)}</span>
            <span role="status">{error ?? "uploading…"}</span>
            <Remove
              name={filename}
              act={() =>
                cancel(key)}
            />
          </span>
        </li>
      ))}
    </ul>
  );
}

function Remove({ name, act }: { name: string; act: () => void }) {
  return (
    <button type="button" class="quiet" aria-label={`Remove ${name}`} onClick={act}>
      <Icon name="close" />
    </button>
  );
}

/** Maximum files of one message (contract 2). */
const FILES_MAX = 20;

interface Upload {
  readonly key: string;
  readonly filename: string;
  readonly size: number;
  /** The reason of a failure; undefined while the upload runs. */
  readonly error?: string;
}

/** Running and failed uploads. A finished upload becomes a file of the draft. */
export function useUploads(count: number, add: (file: DraftFile) => void) {
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const running = useRef(new Map<string, AbortController>());
  const remove = (key: string) => {
    running.current.get(key)?.abort();
    running.current.delete(key);
    setUploads((all) => all.filter((upload) => upload.key !== key));
  };
  const start = async (file: File) => {
    const key = crypto.randomUUID();
    const controller = new AbortController();
    running.current.set(key, controller);
    setUploads((all) => [...all, { key, filename: file.name, size: file.size }]);
    try {
      add(await upload(file, controller.signal));
      remove(key);
    } catch (error) {
      if (controller.signal.aborted) return;
      const failed = { key, filename: file.name, size: file.size, error: errorText(error) };
      setUploads((all) => all.map((upload) => upload.key === key ? failed : upload));
    }
  };
  const refuse = (file: File) => {
    const error = `A message carries at most ${FILES_MAX} files.`;
    const { name: filename, size } = file;
    setUploads((all) => [...all, { key: crypto.randomUUID(), filename, size, error }]);
  };
  const startAll = (files: readonly File[]) => {
    const free = FILES_MAX - count - running.current.size;
    files.slice(0, Math.max(0, free)).forEach(start);
    files.slice(Math.max(0, free)).forEach(refuse);
  };
  const are_running = uploads.some(({ error }) => error === undefined);
  return { uploads, are_running, startAll, remove };
}

async function upload(file: File, signal: AbortSignal): Promise<DraftFile> {
  const form = new FormData();
  form.set("file", file, file.name || "pasted");
  const { id, filename, size, content_type, expires_at } = await callWithForm(form)(
    at.uploadAttachment,
    { signal },
  );
  return { id, filename, size, content_type, expires_at };
}
