/** The route that tells who read and wrote a file. */

import { type Route, route } from "kit/http/route.ts";
import type { Context } from "../../data/context.ts";
import { whoUsesFile } from "protocol/holdings/files.ts";
import { Problem } from "protocol/problems.ts";
import * as peers from "../peers/store.ts";
import type { Reader } from "../transcripts/transcripts.ts";
import type { ReaderOf } from "../transcripts/readers.ts";
import type { SessionReading } from "../transcripts/session_reading.ts";
import { taskOf } from "./overlaps.ts";
import { FilePlaces, repositoryKey } from "./places.ts";
import * as store from "./store.ts";

interface FileRouteDeps {
  readonly ctx: Context;
  readonly sessionReading: Pick<SessionReading, "readAll">;
  /** True if agents' session files may be read. */
  readonly isReadable: boolean;
}

export function fileRoutes(deps: FileRouteDeps, readerOf: ReaderOf): Route[] {
  return [
    route(whoUsesFile, async ({ query: { path, from_peer }, caller, headers }) => {
      const reader = readerOf(from_peer, caller, headers);
      if (!deps.isReadable) throw new Problem("transcripts_off", {});
      await deps.sessionReading.readAll();
      return usesOf(path, reader, deps);
    }),
  ];
}

/** A person may ask about each file, an agent about those in the repository of its folder. */
function usesOf(path: string, reader: Reader, { ctx }: FileRouteDeps) {
  const place = new FilePlaces().of(path);
  const asker = reader.peer_id === undefined ? undefined : peers.get(ctx.db, reader.peer_id);
  if (!reader.isHuman) {
    if (!asker) throw new Problem("human_not_proven", {});
    const own = repositoryKey(asker.path);
    const isOwn = own !== "" && own === place.repository;
    if (!isOwn) throw new Problem("not_your_files", { path });
  }
  const isNear = (circle: string) => reader.isHuman || circle === asker?.circle;
  const uses = store.usesOf(ctx.db, place).flatMap(({ peer_id, root, ...use }) => {
    const peer = peers.get(ctx.db, peer_id);
    if (!peer) return [];
    const { repository: _repository, path: _path, ...counts } = use;
    const { name, status, circle } = peer;
    const task = isNear(circle) ? taskOf(ctx, peer_id) : null;
    return { peer_id, name, status, root: root === "" ? null : root, task, ...counts };
  });
  return { path, root: place.root === "" ? null : place.root, file: place.path, uses };
}
