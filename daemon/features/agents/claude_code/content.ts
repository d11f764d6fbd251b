/** The content of a message in a transcript: the blocks of Anthropic's Messages API. */

import * as z from "zod";

export const Content = z.union([z.string(), z.array(z.unknown())]);

/** The blocks that are shown. Others, such as thoughts and images, do not match. */
export const Block = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.literal("tool_use"), name: z.string(), input: z.unknown().optional() }),
  z.object({ type: z.literal("tool_result"), content: Content.optional() }),
]);

/** The output of a tool as text. A block of another kind is named by its type. */
export function toolResultText(content: z.infer<typeof Content> | undefined): string {
  if (content === undefined) return "";
  if (typeof content === "string") return content;
  return content.map((part) => {
    const { data } = Part.safeParse(part);
    return data?.text ?? `[${data?.type ?? "unknown"}]`;
  }).join("\n");
}

const Part = z.object({ type: z.string(), text: z.string().optional() });
