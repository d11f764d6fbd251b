/** Shortened ids in arguments: completed by the daemon before a command runs. */

import type { Call } from "kit/http/client.ts";
import { completeId } from "protocol/generated/endpoints.ts";
import { undefinedOnRefusal } from "../client/daemon_client.ts";
import type { Args, CommandSpec } from "./command.ts";
import { keyOf, parseFlag } from "./line.ts";

/** A prefix and some digits, or digits alone. */
const SHORT_ID = /^(?:[a-z]+-)?[0-9a-f]{4,12}$/;
const WHOLE_ID = /^[a-z]+-[0-9a-f]{12}$/;

type NameKind = "peer" | "record";

/** The kinds of names that the arguments and flags hold, by the placeholders of the usage. */
function namesIn({ usage, flags = {} }: CommandSpec): Map<string, NameKind> {
  const names = new Map<string, NameKind>();
  for (const [, name = ""] of usage.matchAll(/[<[]([a-z-]+)/g)) {
    if (name === "peer" || name === "peers") names.set(name, "peer");
    if (name === "id") names.set(name, "record");
  }
  for (const declared of Object.keys(flags)) {
    const { name, value } = parseFlag(declared);
    if (value === "peer") names.set(keyOf(name), "peer");
    if (value === "ask") names.set(keyOf(name), "record");
  }
  return names;
}

/**
 * The arguments with shortened ids completed by the daemon. Any other text stays unchanged: it may
 * be a name, or the command refuses it. Peers may be separated by commas.
 */
export async function completeIds(
  call: () => Call,
  command: CommandSpec,
  args: Args,
): Promise<Args> {
  let completed = args;
  for (const [name, of] of namesIn(command)) {
    const words: string[] = [];
    for (const word of args.words(name)) {
      const parts: string[] = [];
      for (const part of word.split(",")) {
        const isShort = SHORT_ID.test(part) && !WHOLE_ID.test(part);
        parts.push(isShort ? await complete(call(), part, of) : part);
      }
      words.push(parts.join(","));
    }
    if (words.length > 0) completed = completed.with(name, words);
  }
  return completed;
}

async function complete(call: Call, short: string, of: NameKind): Promise<string> {
  const request = { params: { short }, query: { of } };
  const lookUp = async () => (await call(completeId, request)).id;
  // A daemon of an earlier version does not know the route.
  const known = undefinedOnRefusal("unknown_id", lookUp);
  return await undefinedOnRefusal("not_found", () => known) ?? short;
}
