/** The files of a draft: attached, on their way, or refused. */

import { addressOf, bytes, isPicture } from "../attachments.tsx";
import type { DraftFile } from "./kept.ts";
import type { Upload } from "./uploads.ts";

export function DraftFiles({ files, uploads, remove, cancel }: {
  files: readonly DraftFile[];
  uploads: readonly Upload[];
  remove: (id: string) => void;
  cancel: (key: string) => void;
}) {
  if (files.length + uploads.length === 0) return null;
  return (
    <ul class="attachments" aria-label="Files to send">
      {files.map((file) => (
        <li key={file.id}>
          {isPicture(file) && <img class="thumbnail" src={addressOf(file.id)} alt="" />}
          <span class="file">
            <bdi>{file.filename}</bdi>
            <span class="hint">{bytes(file.size)}</span>
            <Remove name={file.filename} act={() => remove(file.id)} />
          </span>
        </li>
      ))}
      {uploads.map(({ key, filename, size, error }) => (
        <li key={key} class={error === undefined ? "" : "refused"}>
          <span class="file">
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
  return <button type="button" class="quiet" aria-label={`Remove ${name}`} onClick={act}>✕</button>;
}
