/** The commands for words that other tools use. */

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
