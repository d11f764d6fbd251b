/** Prints the files of a message. */

import type { WireResponse } from "kit/http/client.ts";
import type { uploadAttachment } from "../../daemon/features/messages/attachments/contract.ts";

export type Attachment = WireResponse<typeof uploadAttachment>;

/** One line a file: what it is called, how large it is, where it lies. */
export function attachmentLines(attachments: readonly Attachment[]): string[] {
  return attachments.map(({ filename, size, content_type, path }) =>
    `${filename} (${content_type}, ${formatSize(size)}) ${path}`
  );
}

function formatSize(size: number): string {
  const step = SIZE_UNITS.find(({ bytes }) => size >= bytes);
  return step ? `${(size / step.bytes).toFixed(1)} ${step.unit}` : `${size} bytes`;
}

const SIZE_UNITS = [
  { bytes: 1_048_576, unit: "MB" },
  { bytes: 1024, unit: "kB" },
] as const;
