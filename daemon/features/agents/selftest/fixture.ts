/** Facts about one agent for `mesh selftest`: first start, model, screens and keys. */

/** An action of the scripted model. A tool's result starts the model's next answer. */
export type Step =
  | { readonly tool: string; readonly args?: Readonly<Record<string, unknown>> }
  | { readonly say: string }
  | { readonly sleep_ms: number };

/** The model's answer to a matching prompt. `$1` to `$9` are the captures of `match`. */
export interface ScriptedReply {
  readonly match: RegExp;
  /** Must match the context that hooks have added, as well; then its captures are used. */
  readonly context?: RegExp;
  readonly steps: readonly Step[];
}

/** The API of the agent's model: Anthropic's, OpenAI's two, or Google's. */
export type ModelApi = "messages" | "responses" | "chat" | "generate-content";

/** The home of an agent under test. */
export interface TestHome {
  readonly home: string;
  /** The agent's working folder. */
  readonly folder: string;
  /** The installed release. */
  readonly version: string;
}

export interface Fixture {
  readonly model_api: ModelApi;
  /** Additional replies. `forbidden` is a file that needs the user's permission to create. */
  rules?(forbidden: string): readonly ScriptedReply[];
  /** The files of a home after the first start, as a map from path to text or to a JSON value. */
  files(place: TestHome, model_url: string): Readonly<Record<string, unknown>>;
  /** Environment variables in addition to those of the home. */
  env(model_url: string): Readonly<Record<string, string>>;
  readonly command: readonly string[];
  /** Arguments that resume the folder's last session. */
  readonly resume: readonly string[];
  /** True if the composer is shown and empty. */
  isReady(screen: string): boolean;
  /** The key to press at a screen of the first start; undefined at any other screen. */
  atStart?(screen: string): string | undefined;
  readonly dialog: {
    /** A prompt that makes the model call a tool that needs permission; ends with `mark`. */
    prompt(forbidden: string, mark: string): string;
    isOpen(screen: string): boolean;
    /** The keys that refuse the permission. */
    readonly refusal: readonly string[];
  };
  /** Ends processes that outlive the agent's terminals. */
  end?(run: (program: string, ...args: string[]) => Promise<void>): Promise<void>;
  /** Files that the agent leaves outside of its home. */
  leftovers?(place: TestHome): readonly string[];
  /** Transports that are not tested, each with the reason. */
  readonly untested: Readonly<Record<string, string>>;
}
