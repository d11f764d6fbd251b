/** What `mesh selftest` knows of one agent: its first start, its model, its screens, its keys. */

/** One action of the scripted model. A tool call ends its answer; the result starts the next. */
export type Step =
  | { readonly tool: string; readonly args?: Readonly<Record<string, unknown>> }
  | { readonly say: string }
  | { readonly sleep_ms: number };

/** What the model does with a prompt that matches; `$1` to `$9` in strings are its captures. */
export interface Rule {
  readonly match: RegExp;
  readonly steps: readonly Step[];
}

/** The interface that the agent's model has: Anthropic's, OpenAI's two, and Google's. */
export type ModelApi = "messages" | "responses" | "chat" | "generate-content";

/** Where an agent lives while it is tested. */
export interface TestHome {
  readonly home: string;
  /** The folder that it works in. */
  readonly folder: string;
  /** The installed release. */
  readonly version: string;
}

export interface Fixture {
  readonly model_api: ModelApi;
  /** What the model does beside its usual answers; `forbidden` is a file that needs permission. */
  rules?(forbidden: string): readonly Rule[];
  /** The files of a home past the first start: path to text, or to what is written as JSON. */
  files(place: TestHome, model_url: string): Readonly<Record<string, unknown>>;
  /** What its environment needs beside the home. */
  env(model_url: string): Readonly<Record<string, string>>;
  readonly command: readonly string[];
  /** Arguments that resume the folder's last session. */
  readonly resume: readonly string[];
  /** The composer is shown, and empty. */
  isReady(screen: string): boolean;
  /** The key that the user presses at a screen of the first start. */
  atStart?(screen: string): string | undefined;
  readonly dialog: {
    /** What is typed to make the model call a tool that needs permission; ends with the mark. */
    prompt(forbidden: string, mark: string): string;
    isOpen(screen: string): boolean;
    /** The keys that refuse. */
    readonly refusal: readonly string[];
  };
  /** Ends what outlives its terminals. */
  end?(run: (program: string, ...args: string[]) => Promise<void>): Promise<void>;
  /** Files outside of its home that it would leave behind. */
  leftovers?(place: TestHome): readonly string[];
  /** Transports that are not tested, and why. */
  readonly untested: Readonly<Record<string, string>>;
}
