/** The strategy `relevance`: a full-text match of the ask against texts about each peer. */

import { basename } from "kit/core/path.ts";
import * as z from "zod";
import { indexedText, tokensOf } from "kit/core/words.ts";
import type { Context } from "../../../data/context.ts";
import { Database } from "kit/data/sqlite.ts";
import { type Candidate, type Choice, type lastReplies, noChoice } from "./candidates.ts";
import { byLoad } from "./least_busy.ts";

/** Maximum words of an ask that are used. The first words describe its topic best. */
const WORDS_MAX = 64;
const WORD_CHARS_MAX = 64;

/** The weight of each kind of text. An old description counts half. */
const WEIGHTS = { description: 4, old_description: 2, project: 3, path: 1, answer: 2 } as const;
type Kind = keyof typeof WEIGHTS;

const INDEX = `create virtual table snippets using fts5
  (peer unindexed, kind unindexed, words,
   tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co So'")`;

const INSERT = "insert into snippets (peer, kind, words) values (:peer, :kind, :words)";

/** English words without a topic. */
const STOP_WORDS = new Set(
  ("a about all am an and any are as at be been but by can could did do does for from get had has " +
    "have he hello help her hey hi him his how i if in into is it its just let like make may me " +
    "mine my need needs no not now of off on one or our out over please shall she should so some " +
    "tell than thank thanks that the their them then there these they this those to too up us was " +
    "we were what when where which who why will with would yes you your").split(" "),
);

/** One text about a peer. */
interface Snippet {
  readonly peer: string;
  readonly kind: Kind;
  readonly words: string;
}

interface RelevanceInput {
  readonly candidates: readonly Candidate[];
  readonly recentReplies: ReturnType<typeof lastReplies>;
  readonly description_ttl_seconds: number;
}

type DatabaseDeps = Pick<Context, "clock" | "log">;

const Match = z.object({ peer: z.string(), kind: z.string(), score: z.number() });

/**
 * Chooses the peer whose texts match best; among equal matches, the least busy peer. A peer's score
 * is the sum of its best match of each kind of text. The confidence is the chosen peer's share of
 * all scores, times the square root of the share of the ask's words that the peer's texts contain.
 */
export function mostRelevant(text: string, input: RelevanceInput, ctx: DatabaseDeps): Choice {
  const words = wordsOf(text);
  const snippets = input.candidates.flatMap((candidate) => snippetsOf(candidate, input));
  if (words.length === 0 || snippets.length === 0) return noChoice("no_candidate");
  using index = indexOf(snippets, ctx);
  const scores = scoresOf(index, words);
  const score = ({ peer_id }: Candidate) => scores.get(peer_id) ?? 0;
  const [best] = input.candidates.toSorted((a, b) => score(b) - score(a) || byLoad(a, b));
  if (!best || score(best) === 0) return noChoice("no_candidate");
  const all = [...scores.values()].reduce((sum, score) => sum + score, 0);
  const hits = words.filter((word) => matchesWord(index, best.peer_id, word));
  const confidence = score(best) / all * Math.sqrt(hits.length / words.length);
  return { peer: best.peer_id, confidence };
}

/** The distinct words of an ask, without stop words. */
function wordsOf(text: string): string[] {
  const significant = tokensOf(text).map((token) => token.text).filter((word) =>
    word.length > 1 && word.length <= WORD_CHARS_MAX && !STOP_WORDS.has(word)
  );
  return [...new Set(significant)].slice(0, WORDS_MAX);
}

function snippetsOf(candidate: Candidate, input: RelevanceInput): Snippet[] {
  const { peer_id: peer, description, description_age_seconds, path } = candidate;
  const isOld = (description_age_seconds ?? 0) > input.description_ttl_seconds;
  const texts: [Kind, string][] = [
    [isOld ? "old_description" : "description", description ?? ""],
    ["project", basename(path ?? "")],
    ["path", path ?? ""],
  ];
  const recentReplies = input.recentReplies.filter(({ peer_id }) => peer_id === peer);
  return [
    ...texts,
    ...recentReplies.map(({ reply }) => ["answer", reply] as const),
  ].flatMap(([kind, text]) => text === "" ? [] : [{ peer, kind, words: indexedText(text) }]);
}

/**
 * Makes an index of the texts. Each text gets a filler row of the same length, because bm25 gives
 * no weight to a word that is in half of all rows. With few peers that is common; the filler rows
 * lower the share.
 */
function indexOf(snippets: readonly Snippet[], { clock, log }: DatabaseDeps): Database {
  const index = new Database(":memory:", [INDEX], log, clock);
  index.transactNow((tx) => {
    for (const { peer, kind, words } of snippets) {
      tx.run(INSERT, { peer, kind, words });
      tx.run(INSERT, {
        peer: "",
        kind,
        words: words.replaceAll(/[\p{L}\p{N}\p{So}]+/gu, "\uE000"),
      });
    }
  });
  return index;
}

/** The score of each peer that matches any of the words. */
function scoresOf(index: Database, words: readonly string[]): Map<string, number> {
  const matches = index.all(
    Match,
    "select peer, kind, -bm25(snippets) as score from snippets where snippets match :any",
    { any: words.map(quote).join(" OR ") },
  );
  const best = new Map<string, Map<string, number>>();
  for (const { peer, kind, score } of matches) {
    const kinds = best.getOrInsertComputed(peer, () => new Map());
    kinds.set(kind, Math.max(kinds.get(kind) ?? 0, score * WEIGHTS[kind as Kind]));
  }
  return new Map([...best].map(([peer, kinds]) => [
    peer,
    [...kinds.values()].reduce((sum, score) => sum + score, 0),
  ]));
}

function matchesWord(index: Database, peer: string, word: string): boolean {
  const hit = index.value(
    z.number(),
    "select 1 from snippets where snippets match :word and peer = :peer limit 1",
    { word: quote(word), peer },
  );
  return hit !== undefined;
}

function quote(word: string): string {
  return `"${word}"`;
}
