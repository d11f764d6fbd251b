/** The account that a session of Claude Code uses: its settings folder, and the login in it. */

import * as z from "zod";
import { setLatest } from "kit/core/bounded_map.ts";
import { join } from "kit/core/path.ts";
import { tryJson } from "kit/core/text.ts";
import { changedAt, readWhole } from "../../../host/agent_files.ts";
import type { AgentAccount, AgentPeer } from "../adapter.ts";
import { claudeTranscript } from "./session_files.ts";

/** A settings folder, with the file in which Claude Code names the account. */
export interface AccountPlace {
  readonly home: string;
  readonly file: string;
}

/** The file also holds the history of every project. */
const FILE_BYTES_MAX = 16_777_216;
const SESSIONS_MAX = 1_000;

/** As of 2.1.329. The login itself is in another file, which is not read. */
const Login = z.object({
  oauthAccount: z.object({
    accountUuid: z.string().min(1).max(64),
    emailAddress: z.string().max(255).optional().catch(undefined),
  }),
});

export function claudeAccount(places: readonly AccountPlace[]) {
  /** The folder of each session, which never changes. */
  const homes = new Map<string, AccountPlace>();
  const logins = new Map<
    string,
    { readonly changed_at: number; readonly id: string | undefined }
  >();
  const placeOf = (session_id: string | null): AccountPlace | undefined => {
    if (session_id === null) return places[0];
    const known = homes.get(session_id);
    if (known) return known;
    const found = places.find(({ home }) => claudeTranscript([home], session_id) !== undefined);
    if (found) setLatest(homes, session_id, found, SESSIONS_MAX);
    return found ?? places[0];
  };
  const loginIn = (file: string): string | undefined => {
    const changed_at = changedAt(file);
    if (changed_at === undefined) return undefined;
    const known = logins.get(file);
    if (known?.changed_at === changed_at) return known.id;
    const { data } = Login.safeParse(tryJson(readWhole(file, FILE_BYTES_MAX, { own: true }) ?? ""));
    const { emailAddress, accountUuid } = data?.oauthAccount ?? {};
    const id = emailAddress ?? accountUuid;
    logins.set(file, { changed_at, id });
    return id;
  };
  return ({ runtime_session_id }: AgentPeer): AgentAccount | undefined => {
    const place = placeOf(runtime_session_id);
    return place && { home: place.home, id: loginIn(place.file) };
  };
}

/** The places for these settings folders. The file of the default folder lies beside it. */
export function accountPlaces(
  config_dirs: readonly string[],
  default_dir: string,
): readonly AccountPlace[] {
  return config_dirs.map((home) => ({
    home,
    file: home === default_dir ? `${home}.json` : join(home, ".claude.json"),
  }));
}
