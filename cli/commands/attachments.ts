/** The flag `--attach` of commands that send messages: the uploader is loaded only with files. */

import type { Args, CommandContext } from "../command/command.ts";

export const ATTACH_FLAG = {
  "--attach <file> ...": "attach a file: a path, or the att-… id of an upload; repeatable",
} as const;

/** Uploads the files of `--attach` in order and returns all ids; `{}` without the flag. */
export async function resolveAttachments(
  context: CommandContext,
  args: Args,
): Promise<{ attachments?: string[] }> {
  const paths = args.list("attach");
  if (paths.length === 0) return {};
  const { uploadFiles } = await import("./upload.ts");
  return { attachments: await uploadFiles(context, paths) };
}
