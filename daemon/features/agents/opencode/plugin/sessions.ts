/** Creates, finds, reads and prompts the sessions of this opencode, through its client. */

import type { Client, Info } from "./opencode.ts";

/** Maximum messages of a resumed session that are searched for deliveries that already arrived. */
const HISTORY_MAX = 200;

export class Sessions {
  readonly #client: Client;
  /** Sessions of subagents. */
  readonly #children = new Set<string>();
  readonly #created = new Set<string>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Records a session that this process created. */
  add({ id, parentID }: Info): void {
    if (id) (parentID ? this.#children : this.#created).add(id);
  }

  isCreated(id: string): boolean {
    return this.#created.has(id);
  }

  /** True unless the session belongs to a subagent. */
  async isRoot(id: string): Promise<boolean> {
    if (this.#children.has(id)) return false;
    if (this.#created.has(id)) return true;
    const { data } = await this.#client.session.get({ path: { id } });
    if (data?.parentID) this.#children.add(id);
    return !data?.parentID;
  }

  /** Creates a session; undefined if opencode refuses. */
  async create(): Promise<string | undefined> {
    const { data } = await this.#client.session.create({});
    if (data?.id) this.#created.add(data.id);
    return data?.id;
  }

  /** Shows a session on the screen. */
  async select(id: string): Promise<void> {
    const headers = { "content-type": "application/json" };
    const options = { url: "/tui/select-session", body: { sessionID: id }, headers };
    await this.#client._client?.post(options)?.catch?.(() => undefined);
  }

  /** The most recently used session of this folder. */
  async last(): Promise<string | undefined> {
    const { data } = await this.#client.session.list();
    const roots = (data ?? []).filter(({ parentID }) => !parentID);
    return roots.sort((a, b) => b.time.updated - a.time.updated)[0]?.id;
  }

  /** The text of a session's latest prompts. */
  async promptsOf(id: string): Promise<string> {
    const query = { limit: HISTORY_MAX };
    const { data } = await this.#client.session.messages({ path: { id }, query });
    const prompts = (data ?? []).filter(({ info }) => info.role === "user");
    return prompts.flatMap(({ parts }) => parts.map((part) => part.text ?? "")).join("\n");
  }

  /** Stops the session's turn, also while it waits to try the model again. */
  async abort(id: string): Promise<void> {
    await this.#client.session.abort({ path: { id } }).catch(() => undefined);
  }

  prompt(id: string, text: string) {
    const body = { parts: [{ type: "text" as const, text }] };
    return this.#client.session.promptAsync({ path: { id }, body });
  }
}
