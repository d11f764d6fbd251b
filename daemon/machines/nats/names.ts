/** The subjects and stores on the NATS server; `server_config.ts` has the permissions for them. */

/** The stream of all batches, and the two buckets. */
export const STREAM = "mesh";
export const DIRECTORY = "mesh_directory";
export const FILES = "mesh_files";

/** Time for which the server keeps an entry of the directory. */
export const ENTRY_MS_MAX = 60_000;

/** A machine's daemon id, which is a token of subjects. */
export const DAEMON_ID = /^dm-[0-9a-f]{12}$/;

/** Names of files, the last two tokens of a subject: the machine that stored it, and its name. */
export const FILE_NAME = /^dm-[0-9a-f]{12}\.[\w-]{1,112}$/;

/**
 * The sender is always the last machine in a subject that it publishes on, so that one permission
 * of the server excludes other machines. A machine can still make the server publish there the
 * answer to a request, so only the seal proves the sender.
 */
export const SUBJECTS = {
  batch: (to: string, from: string) => `mesh.batch.${to}.${from}`,
  batches: (to: string) => `mesh.batch.${to}.*`,
  call: (to: string, from: string) => `mesh.call.${to}.${from}`,
  calls: (to: string) => `mesh.call.${to}.*`,
  answer: (to: string, from: string, nonce: string) => `mesh.answer.${to}.${from}.${nonce}`,
  answers: (to: string) => `mesh.answer.${to}.*.*`,
  beat: (from: string) => `mesh.beat.${from}`,
  beats: "mesh.beat.*",
};

/** The inbox of a machine, where the server sends its own answers. */
export function inboxPrefix(daemonId: string): string {
  return `_INBOX_${daemonId}`;
}

/** The machine that sent a heartbeat; undefined for any other subject. */
export function beatingMachine(subject: string): string | undefined {
  const id = subject.slice(SUBJECTS.beat("").length);
  return subject === SUBJECTS.beat(id) && DAEMON_ID.test(id) ? id : undefined;
}

/** The sender of a batch or of a call, by its subject; undefined for any other subject. */
export function senderOf(subject: string): string | undefined {
  const [mesh, kind, , from, ...rest] = subject.split(".");
  const isKnown = mesh === "mesh" && (kind === "batch" || kind === "call");
  return isKnown && rest.length === 0 && from && DAEMON_ID.test(from) ? from : undefined;
}
