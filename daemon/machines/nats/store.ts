/** Makes the stream and the two buckets on the server, or changes them to the given limits. */

import type { StreamAPI } from "@nats-io/jetstream";
import { DIRECTORY, ENTRY_MS_MAX, FILES, STREAM } from "./names.ts";
import { apiCodeOf, NAME_IN_USE_CODE, NO_ROOM_CODE } from "./reasons.ts";
import { libraries, type NatsConnection } from "./libraries.ts";

export interface StoreLimits {
  /** Of all batches that wait for their machines. */
  readonly batches_bytes: number;
  /** Of all files. */
  readonly files_bytes: number;
  /** Of the directory. */
  readonly directory_bytes: number;
  /** Copies in a cluster: 1, 3 or 5. */
  readonly replicas: number;
}

export const DEFAULT_LIMITS: StoreLimits = {
  batches_bytes: 1 << 30,
  files_bytes: 2 ** 31,
  directory_bytes: 64 << 20,
  replicas: 1,
};

const DAY_MS = 24 * 60 * 60_000;
export const BATCH_MS_MAX = 30 * DAY_MS;
export const FILE_MS_MAX = 7 * DAY_MS;
/** Time for which the server knows the id of a batch, and drops repetitions. */
const DUPLICATES_MS = 2 * 60_000;
export const DIRECTORY_ENTRY_BYTES_MAX = 512 << 10;

/** Error codes of the server for a stream that exists. */
const EXISTING_CODES: ReadonlySet<number> = new Set([NAME_IN_USE_CODE, NO_ROOM_CODE]);

/**
 * A message with the header `Nats-Rollup: all` replaces every message of a stream. The answer to a
 * publication can itself be a request to the API, whose subject the sender chose as the reply.
 * Therefore nobody may purge a stream or delete a message.
 */
const KEPT = { allow_rollup_hdrs: false, deny_delete: true, deny_purge: true };

interface StreamLimits {
  readonly name: string;
  readonly max_msgs_per_subject?: number;
}

const nanos = (ms: number) => ms * 1_000_000;

/**
 * Needs a connection that may create streams; rejects with the client's own error otherwise. May
 * be called at any time, and again after the server lost its store.
 */
export async function prepareStore(
  connection: NatsConnection,
  limits: StoreLimits = DEFAULT_LIMITS,
): Promise<void> {
  const { jetstream } = await libraries();
  const { DiscardPolicy, RetentionPolicy, StorageType } = jetstream;
  const { streams } = await jetstream.jetstreamManager(connection, { checkAPI: false });
  const shared = {
    storage: StorageType.File,
    num_replicas: limits.replicas,
    discard: DiscardPolicy.New,
    ...KEPT,
  };
  const bucket = {
    ...shared,
    retention: RetentionPolicy.Limits,
    max_msgs_per_subject: 1,
    allow_direct: true,
  };
  const all = [
    {
      ...shared,
      name: STREAM,
      subjects: ["mesh.batch.*.*"],
      retention: RetentionPolicy.Workqueue,
      max_age: nanos(BATCH_MS_MAX),
      max_bytes: limits.batches_bytes,
      duplicate_window: nanos(DUPLICATES_MS),
    },
    {
      ...bucket,
      name: `KV_${DIRECTORY}`,
      subjects: [`$KV.${DIRECTORY}.>`],
      max_msg_size: DIRECTORY_ENTRY_BYTES_MAX,
      max_age: nanos(ENTRY_MS_MAX),
      max_bytes: limits.directory_bytes,
      duplicate_window: nanos(ENTRY_MS_MAX),
    },
    {
      ...bucket,
      name: `OBJ_${FILES}`,
      subjects: [`$O.${FILES}.C.>`, `$O.${FILES}.M.>`],
      max_age: nanos(FILE_MS_MAX),
      max_bytes: limits.files_bytes,
    },
  ];
  for (const config of all) {
    try {
      await streams.add(config);
    } catch (error) {
      // The name has another configuration: the limits or the version changed. Or the configuration
      // is the same, and version 2.9 counted its bytes twice before it looked for the name.
      if (!EXISTING_CODES.has(apiCodeOf(error) ?? 0)) throw error;
      await streams.update(config.name, await keepOldChunks(streams, config));
    }
  }
}

/**
 * Earlier versions stored the parts of a file on one subject. The limit of one message for each
 * subject would drop them, so it is set only after they have arrived or expired.
 */
async function keepOldChunks<Config extends StreamLimits>(
  streams: StreamAPI,
  config: Config,
): Promise<Config> {
  if (config.name !== `OBJ_${FILES}`) return config;
  const { state } = await streams.info(config.name, { subjects_filter: `$O.${FILES}.>` });
  const isOld = Object.values(state.subjects ?? {}).some((messages) => messages > 1);
  return isOld ? { ...config, max_msgs_per_subject: -1 } : config;
}
