/** The interface between a chat surface and its chat: the calls, their errors, and the limits. */

/**
 * The class of a failed call. `network`: nothing was sent. `unclear`: no answer arrived, and the
 * call may have succeeded. Every other value means that the chat refused the call.
 */
export type ErrorClass =
  | "unauthorized"
  | "forbidden"
  | "bad_request"
  | "conflict"
  | "rate_limited"
  | "network"
  | "unclear";

/** A failed call to a chat. The message contains no secret. */
export class ChatError extends Error {
  override readonly name = "ChatError";
  readonly error_class: ErrorClass;
  /** Time for which the chat asks us to wait. */
  readonly retry_after_ms: number | undefined;
  /** The setting below `surfaces.NAME` that holds the token of the call. */
  readonly setting: string = "token";

  constructor(error_class: ErrorClass, message: string, retry_after_ms?: number) {
    super(message);
    this.error_class = error_class;
    this.retry_after_ms = retry_after_ms;
  }
}

/** True if a call to a chat failed with one of these classes. */
export function hasFailed(error: unknown, ...classes: ErrorClass[]): error is ChatError {
  return error instanceof ChatError && classes.includes(error.error_class);
}

/** The differences between chats in the texts that we send. Lengths are in UTF-16 units. */
export interface ChatStyle {
  /** The name of the surface, in `/ws`, in pushes and in replies. */
  readonly surface: string;
  /** The name of the chat for the person, such as `Telegram`. */
  readonly title: string;
  /** The first character of a command. */
  readonly command_prefix: string;
  /** The verb for answering a message, such as `Reply to`. */
  readonly reply_verb: string;
  /** The longest text of one message. */
  readonly text_units_max: number;
  /** The longest answer to a tap. */
  readonly tap_units_max: number;
  /** The widest label of a button, in columns. */
  readonly button_columns_max: number;
  /** The longest data of a button, in bytes. */
  readonly button_data_bytes_max: number;
  /** The largest file that we may send. */
  readonly file_bytes_max: number;
  /** The largest file of the person that the chat gives us. */
  readonly download_bytes_max: number;
}

/** A button under a message. A tap on it returns its data. */
export interface Button {
  readonly text: string;
  readonly data: string;
}

export interface OutgoingText {
  readonly text: string;
  /** The message of the bot to which this one replies, if the chat still has it. */
  readonly reply_to?: string | undefined;
  /** The item that the message shows. */
  readonly item_id?: string | undefined;
  /** The index of this text among the item's texts; undefined for a notice about the item. */
  readonly part?: number | undefined;
  /** True if an earlier process may have sent it. A chat with a history then looks there first. */
  readonly mayBeShown?: boolean | undefined;
  /** The first message of that item, if this one continues it. */
  readonly first_ref?: string | undefined;
  /** One button a row. */
  readonly buttons?: readonly Button[] | undefined;
}

/** A file to send. `caption` is shown with it. */
export interface OutgoingFile {
  readonly filename: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** True if the bytes are a picture that chats show: PNG, JPEG, GIF or WebP. */
  readonly isPicture: boolean;
  readonly caption: string;
  readonly reply_to?: string | undefined;
  /** The first message of the item that has the file. */
  readonly first_ref?: string | undefined;
}

/** A file that the person sent. The chat supplies its name and type, which are not checked. */
export interface IncomingFile {
  /** Differs from that of every other file of the chat. */
  readonly key: string;
  readonly filename: string;
  readonly content_type: string;
  /** In bytes, if the chat supplies it. */
  readonly size: number | undefined;
  /** Downloads the file; stops after `bytes_max` bytes with a `bad_request`. */
  load(bytes_max: number, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>>;
}

export interface TapAnswer {
  readonly id: string;
  readonly text: string;
  /** True if the text is shown until the person dismisses it. */
  readonly alert: boolean;
}

/** The calls to one chat. Each throws a `ChatError`. A message is named by its ref. */
export interface Chat {
  readonly style: ChatStyle;
  /** Sends a plain text; returns the ref of the message. */
  sendText(message: OutgoingText, signal: AbortSignal): Promise<string>;
  /** Sends a file; returns the ref of its message, or undefined if the chat does not return it. */
  sendFile(file: OutgoingFile, signal: AbortSignal): Promise<string | undefined>;
  /** Replaces the buttons of a message; an empty list removes them. */
  setButtons(ref: string, buttons: readonly Button[], signal: AbortSignal): Promise<void>;
  answerTap(answer: TapAnswer, signal: AbortSignal): Promise<void>;
  /** Marks a message of the person as forwarded, without a message. */
  confirm(ref: string, signal: AbortSignal): Promise<void>;
}

/** A message that the person wrote in the configured chat. */
export interface IncomingMessage {
  readonly ref: string;
  /** Its text, or the caption of its files. */
  readonly text: string | undefined;
  /** The time of writing by the chat's clock, in milliseconds. */
  readonly written_at: number;
  /** The message of the bot to which this is a reply. */
  readonly reply_to: string | undefined;
  /** The item that this message shows, if the chat itself knows it. */
  readonly item_id?: string | undefined;
  /** True if the message is for the bot even if it is no reply to it, as in a private chat. */
  readonly isForBot: boolean;
  readonly files: readonly IncomingFile[];
  /** True if it has content other than text and files, which we cannot forward. */
  readonly hasOther: boolean;
}

/** A tap of the person on a button in the configured chat. */
export interface IncomingTap {
  readonly id: string;
  readonly data: string;
  /** The message with the button. */
  readonly ref: string;
}

/** A message that the person has changed after it was sent. */
export type IncomingEdit = Pick<IncomingMessage, "ref" | "reply_to" | "item_id">;

export interface ChatEvent {
  readonly message?: IncomingMessage | undefined;
  readonly tap?: IncomingTap | undefined;
  readonly edit?: IncomingEdit | undefined;
}
