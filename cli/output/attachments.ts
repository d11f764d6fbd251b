/** Prints the files of a message. */

import type { Wire } from "kit/http/client.ts";
import type { uploadAttachment } from "../../daemon/features/messages/attachments/contract.ts";

export type Uploaded = Wire<typeof uploadAttachment>;

/** One line a file: what it is called, how large it is, where it lies. */
export function listed(attachments: readonly Uploaded[]): string[] {
  return attachments.map(({ filename, size, content_type, path }) =>
    `${filename} (${content_type}, ${sizeOf(size)}) ${path}`
  );
}

function sizeOf(size: number): string {
  const step = UNITS.find(({ bytes }) => size >= bytes);
  return step ? `${(size / step.bytes).toFixed(1)} ${step.unit}` : `${size} bytes`;
}

const UNITS = [
  { bytes: 1_048_576, unit: "MB" },
  { bytes: 1024, unit: "kB" },
] as const;
