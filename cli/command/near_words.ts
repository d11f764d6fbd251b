/** Finds the word that a mistyped one probably stands for, by spelling or by meaning. */

/** Words that people type for commands of other names, and the command to type instead. */
const MEANINGS: Readonly<Record<string, string>> = {
  agents: "mesh peers",
  cancel: "mesh jobs cancel ID, or mesh schedule delete ID",
  close: "mesh peer close PEER",
  connect: "mesh setup",
  create: "mesh spawn PATH, mesh jobs create TEXT, or mesh schedule create PEER TEXT",
  cron: "mesh schedule create PEER TEXT --cron PATTERN",
  delete: "mesh peer close PEER, mesh jobs cancel ID, or mesh schedule delete ID",
  events: "mesh watch",
  follow: "mesh watch, or mesh logs --follow",
  health: "mesh status, or mesh doctor",
  history: "mesh search",
  info: "mesh status, or mesh peer show PEER",
  kill: "mesh peer kill PEER",
  log: "mesh logs",
  login: "mesh open signs your browser in; mesh setup --relay URL connects a relay",
  logout: "mesh config unset relay.secret ends this machine's connection to its relay",
  message: "mesh notify PEER TEXT, or mesh ask PEER TEXT",
  msg: "mesh notify PEER TEXT, or mesh ask PEER TEXT",
  new: "mesh spawn PATH",
  ps: "mesh peers",
  read: "mesh inbox read ID, or mesh show ID",
  register: "mesh link PANE",
  remove: "mesh peer close PEER",
  rename: "mesh peer rename PEER NEW-NAME",
  reply: "mesh inbox reply ID TEXT, or mesh ack ID TEXT",
  rm: "mesh peer close PEER",
  settings: "mesh config",
  signin: "mesh open signs your browser in; mesh setup --relay URL connects a relay",
  tail: "mesh logs --follow",
  tell: "mesh notify PEER TEXT",
  test: "mesh selftest, or mesh doctor",
  ui: "mesh open",
  web: "mesh open",
  whoami: "mesh status",
};

/** The command for a word that other tools use; undefined if the word has no such meaning. */
export function meaningOf(word: string): string | undefined {
  const lower = word.toLowerCase();
  return Object.hasOwn(MEANINGS, lower) ? MEANINGS[lower] : undefined;
}

/** The candidate that the word was probably meant to be; undefined if none is near. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const typed = word.toLowerCase();
  const ranked = [...new Set(candidates)].flatMap((candidate) => {
    const rank = rankOf(typed, candidate.toLowerCase());
    return rank === undefined ? [] : [{ candidate, rank }];
  });
  return ranked.sort((a, b) => a.rank - b.rank || (a.candidate < b.candidate ? -1 : 1))[0]
    ?.candidate;
}

/** A lower rank is nearer; undefined if the two are too different. */
function rankOf(typed: string, candidate: string): number | undefined {
  if (typed.length >= 2 && candidate.startsWith(typed)) return 0;
  const edits = editDistance(typed, candidate);
  if (edits <= Math.max(1, Math.floor(typed.length / 3))) return edits;
  return typed.length >= 3 && candidate.includes(typed) ? typed.length : undefined;
}

/** The number of letters to add, remove, replace or swap with their neighbour. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (beforeLast[column - 2] ?? Infinity) + 1 : Infinity,
      );
    }
    [beforeLast, last] = [last, current];
  }
  return last[b.length] ?? 0;
}
