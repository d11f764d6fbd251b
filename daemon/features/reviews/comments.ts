/** Comments on lines of a diff: each is an ask to the author, with the line as it was. */

import type { GivenComment, ReviewComment } from "protocol/reviews/contract.ts";
import { lineNow } from "protocol/reviews/lines.ts";
import { Problem } from "protocol/problems.ts";
import type { Address } from "protocol/peers/record.ts";
import type { Context } from "../../data/context.ts";
import * as askRows from "../asks/store.ts";
import type { FolderList } from "../changes/changes.ts";
import { Budget, shownHunks } from "../changes/git/patch.ts";
import { type FoundFile, readNow } from "../changes/git/reader.ts";
import type { RequestContext } from "../messages/request_context.ts";
import { fileId } from "./digest.ts";
import type { FoundReview, ReviewsDeps } from "./deps.ts";
import * as store from "./store.ts";

/** A comment with the line that it is about. */
interface PlacedComment extends GivenComment {
  readonly line_text: string;
  readonly blob: string | null;
}

type LineDeps = Pick<ReviewsDeps, "changes" | "secrets">;

/** Reads the commented lines, and refuses those that the person cannot have seen. */
export async function placeComments(
  { list }: FoundReview,
  given: readonly GivenComment[],
  deps: LineDeps,
): Promise<PlacedComment[]> {
  const placed: PlacedComment[] = [];
  for (const comment of given) {
    const { file, line, side, seen } = comment;
    const found = fileIn(list, file);
    if (!found) throw new Problem("unknown_changed_file", { file });
    const lines = await linesOf(list, found, { side, deps });
    const line_text = lines?.[line - 1];
    if (line_text === undefined) throw new Problem("no_such_line", { file, line });
    if (seen !== undefined && seen !== line_text) {
      throw new Problem("line_changed", { file, line });
    }
    const blob = side === "old" ? found.before_id : fileId(list, found);
    placed.push({ ...comment, file: found.file.path, line_text, blob });
  }
  return placed;
}

/** Sends the comments, all or none. */
export function sendComments(
  ctx: Context,
  { stored: { review_id, folder }, at: { author } }: FoundReview,
  comments: readonly PlacedComment[],
  { asks, person, context }: Pick<ReviewsDeps, "asks"> & {
    readonly person: Address;
    readonly context: RequestContext;
  },
): string[] {
  return ctx.db.transact((tx) => {
    const correlation_ids = comments.map((comment, index) => {
      const count = comments.length > 1 ? ` ${index + 1} of ${comments.length}` : "";
      const text = [
        `Review comment${count} on your changes in ${folder}, ${placeOf(comment)}:`,
        `> ${comment.line_text}`,
        comment.text,
        "Answer this ask: the answer is shown beside the line.",
      ].join("\n\n");
      const { ticket } = asks.open({
        from_peer: person.peer_id,
        to_peer: author.peer_id,
        text,
        // The answer is beside the line; it is no message to the person as well.
        reply_delivery: "pull",
      }, context);
      const correlation_id = ticket?.message.correlation_id ?? "";
      const { file, side, line, line_text, blob } = comment;
      store.insertComment(tx, {
        comment_id: ctx.ids.next("comment"),
        review_id,
        file,
        side,
        line,
        line_text,
        blob,
        text: comment.text,
        correlation_id,
        at: ctx.clock.now(),
      });
      return correlation_id;
    });
    const { peer_id } = author;
    ctx.events.append("review_changed", { review_id, peer_id, event: "commented" });
    return correlation_ids;
  });
}

function placeOf({ file, line, side }: GivenComment): string {
  return side === "old" ? `${file}, line ${line} before the changes` : `${file} line ${line}`;
}

/** The comments of a review, with the answers, and whether each line is still there. */
export async function shownComments(
  { db }: Context,
  deps: LineDeps,
  { review_id, list }: { readonly review_id: string; readonly list: FolderList },
): Promise<ReviewComment[]> {
  const read = new Map<string, Promise<readonly string[] | undefined>>();
  const linesNow = ({ file, side }: store.StoredComment) => {
    const key = `${side} ${file}`;
    const found = fileIn(list, file);
    const lines = read.get(key) ?? (found ? linesOf(list, found, { side, deps }) : readUnchanged());
    read.set(key, lines);
    return lines;
    function readUnchanged() {
      // The file is no longer changed: it is as its commit has it.
      return Promise.resolve(
        side === "new" ? cleaned(readNow(list.repository, file), deps) : undefined,
      );
    }
  };
  return await Promise.all(
    store.commentsOf(db, review_id).map(async (comment) => {
      const { review_id: _review, line, line_text, ...shown } = comment;
      const ask = askRows.ask(db, comment.correlation_id);
      return {
        ...shown,
        line,
        line_text,
        now: lineNow({ line, text: line_text }, await linesNow(comment)),
        ask_state: ask?.state ?? null,
        outcome: ask?.outcome ?? null,
        seen_at: ask?.seen_at ?? null,
        reply: ask?.reply ?? null,
      };
    }),
  );
}

function fileIn({ changes }: FolderList, name: string): FoundFile | undefined {
  return changes.files.find(({ path, file }) => path === name || file.path === name);
}

/** The lines of one side as they are shown; undefined if they cannot be read. */
async function linesOf(
  list: FolderList,
  { path, old_path }: FoundFile,
  { side, deps }: { readonly side: GivenComment["side"]; readonly deps: LineDeps },
): Promise<string[] | undefined> {
  const lines = side === "new"
    ? readNow(list.repository, path)
    : await deps.changes.linesBefore(list, old_path ?? path);
  return cleaned(lines, deps);
}

/** Masked, bounded and without hidden characters, exactly as the diff shows lines. */
function cleaned(lines: string[] | undefined, { secrets }: LineDeps): string[] | undefined {
  if (!lines) return undefined;
  const hunk = { old_start: 1, new_start: 1, lines: lines.map((line) => `+${line}`) };
  const budget = new Budget(Number.MAX_SAFE_INTEGER);
  const { hunks } = shownHunks([hunk], { secrets, lines_max: lines.length, budget });
  return hunks[0]?.lines.map((line) => line.slice(1)) ?? [];
}
