/** The act for which an agent asks permission, as people see it on every surface. */

import * as z from "zod";
import { nullableString } from "protocol/contract.ts";

const Hunk = z.object({
  old_start: z.number().nullable(),
  new_start: z.number().nullable(),
  lines: z.array(z.string()).readonly(),
}).describe(
  "The first line's numbers, and the lines; each begins with a space, `+`, `-` or `\\`",
);

const ActFile = z.object({
  path: z.string(),
  old_path: z.string().optional(),
  added: z.number(),
  removed: z.number(),
  hunks: z.array(Hunk).readonly(),
  note: z.string().optional().describe("A remark, such as why lines have no numbers"),
});

/**
 * Texts are as the agent gave them, with hidden characters; only the title shows those by their
 * numbers. Each argument of the tool is in one of the fields.
 */
export const Act = z.object({
  kind: z.enum(["run", "write", "edit", "delete", "read", "fetch", "mcp", "other"])
    .describe("`other`: only `metadata.tool_input` shows the arguments"),
  title: z.string().describe("One clean line, such as `Run: git push`"),
  command: nullableString,
  folder: nullableString.describe("Where the command runs"),
  path: nullableString.describe("The first file"),
  address: nullableString,
  files: z.array(ActFile).readonly().describe("The changes of files"),
  details: z.array(z.object({ name: z.string(), value: z.string() })).readonly()
    .describe("The other arguments"),
  is_cut: z.boolean().describe("If true, a text is cut; an attachment has the whole input"),
  covers_text: z.boolean().describe("If true, the question's text says nothing more than the act"),
  takes_reason: z.boolean().describe("If true, the agent reads the message of a denial"),
}).meta({ id: "Act" });
export type Act = z.output<typeof Act>;
