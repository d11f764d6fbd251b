/**
 * The part of opencode that the plugin uses: its client, its events and its messages, as of 1.18.
 */

export interface PluginContext {
  /** The folder that opencode works in. */
  readonly directory: string;
  readonly client: Client;
}

export interface Client {
  readonly session: {
    abort(options: OfSession): Promise<Answer<boolean>>;
    create(options: Record<never, never>): Promise<Answer<{ readonly id: string }>>;
    get(options: OfSession): Promise<Answer<{ readonly parentID?: string }>>;
    list(): Promise<Answer<readonly SessionSummary[]>>;
    messages(
      options: OfSession & { readonly query: { readonly limit: number } },
    ): Promise<Answer<readonly { readonly info: Info; readonly parts: readonly Part[] }[]>>;
    promptAsync(
      options: OfSession & { readonly body: { readonly parts: readonly TextPart[] } },
    ): Promise<Answer<unknown>>;
  };
  /** The HTTP transport below the client, for routes that the client has no method for. */
  readonly _client?: {
    post(options: {
      readonly url: string;
      readonly body: unknown;
      readonly headers: Readonly<Record<string, string>>;
    }): Promise<unknown>;
  };
}

interface OfSession {
  readonly path: { readonly id: string };
}

interface Answer<Data> {
  readonly data?: Data;
  readonly error?: unknown;
  readonly response?: { readonly status: number };
}

interface SessionSummary {
  readonly id: string;
  readonly parentID?: string;
  readonly time: { readonly updated: number };
}

interface TextPart {
  readonly type: "text";
  readonly text: string;
}

export interface Model {
  readonly providerID?: string;
  readonly modelID?: string;
}

/** The session, in events about sessions. In other events, a message. */
export interface Info extends Model {
  readonly id?: string;
  readonly role?: string;
  readonly sessionID?: string;
  readonly parentID?: string;
  /** The error that ended the answer, if it is incomplete. */
  readonly error?: { readonly name?: string };
  /** The kind of agent that a session runs. */
  readonly agent?: string;
}

export interface Part {
  readonly id?: string;
  readonly type?: string;
  readonly text?: string;
  /** Added by opencode, not written by the user or the model. */
  readonly synthetic?: boolean;
  readonly messageID?: string;
  readonly sessionID?: string;
}

/** The properties of all events; each event has some of them. */
export interface Properties {
  readonly id?: string;
  readonly sessionID?: string;
  readonly info?: Info;
  readonly part?: Part;
  /** The state of a session. For `retry`: why, and the time of the next attempt (ms since 1970). */
  readonly status?: {
    readonly type: string;
    readonly message?: string;
    readonly next?: number;
  };
  /** The dialog that was answered. The answer is in `reply`. */
  readonly requestID?: string;
  readonly reply?: string;
  /** The error that ended a turn, perhaps with the status of the provider's response. */
  readonly error?: { readonly name?: string; readonly data?: { readonly statusCode?: number } };
}

export interface Event {
  readonly type: string;
  readonly properties?: Properties;
}

/** A message as it enters a session's transcript. */
export interface TranscriptMessage {
  readonly message: { readonly id: string; readonly role?: string; readonly model?: Model };
  readonly parts: readonly Part[];
}

/** The hooks that opencode calls. */
export interface Hooks {
  event(input: { readonly event: Event }): Promise<void>;
  "chat.message"(input: { readonly sessionID: string }, output: TranscriptMessage): Promise<void>;
  dispose(): Promise<void>;
}
