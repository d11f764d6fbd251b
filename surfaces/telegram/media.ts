/** The files of a Telegram message, and the content that we cannot forward. */

import * as z from "zod";

const size = z.int().nonnegative().optional().catch(undefined);
const text = z.string().optional().catch(undefined);
const StoredFile = z.object({
  file_id: z.string().min(1),
  file_size: size,
  file_name: text,
  mime_type: text,
});
/** The sizes of one picture. */
const Photo = z.array(StoredFile.extend({ width: z.number(), height: z.number() })).min(1);

/** A file of a message. `file_id` is what `getFile` takes. */
export interface MediaFile {
  readonly file_id: string;
  readonly filename: string;
  readonly content_type: string;
  readonly size: number | undefined;
}

/** The fields with one file, and what a file without a name or type gets. */
const FILE_FIELDS: Readonly<Record<string, readonly [extension: string, type: string]>> = {
  document: ["bin", "application/octet-stream"],
  video: ["mp4", "video/mp4"],
  video_note: ["mp4", "video/mp4"],
  audio: ["mp3", "audio/mpeg"],
  voice: ["ogg", "audio/ogg"],
};

/** The fields for what is neither text nor a file. */
const OTHER_FIELDS = ["sticker", "location", "contact", "poll", "dice", "story", "paid_media"];

/** A message with its fields for media, whose form is not known yet. */
type Fields = Readonly<Record<string, unknown>> & { readonly message_id: number };

/** The files of a message. `hasOther` is true if the message has other content besides text. */
export function mediaOf(message: Fields): { files: MediaFile[]; hasOther: boolean } {
  const files: (MediaFile | undefined)[] = [];
  if (message["photo"] !== undefined) files.push(toPhoto(message));
  for (const field of Object.keys(FILE_FIELDS)) {
    if (message[field] !== undefined) files.push(toFile(message, field));
  }
  const readable = files.filter((file) => file !== undefined);
  const isUnreadable = readable.length < files.length;
  const hasOther = isUnreadable || OTHER_FIELDS.some((field) => message[field] !== undefined);
  return { files: readable, hasOther };
}

function toPhoto({ message_id, photo }: Fields): MediaFile | undefined {
  const sizes = Photo.safeParse(photo).data ?? [];
  const [largest] = sizes.toSorted((a, b) => b.width * b.height - a.width * a.height);
  if (!largest) return undefined;
  const { file_id, file_size } = largest;
  const filename = `photo-${message_id}.jpg`;
  return { file_id, filename, content_type: "image/jpeg", size: file_size };
}

function toFile(message: Fields, field: string): MediaFile | undefined {
  const file = StoredFile.safeParse(message[field]).data;
  const [extension, type] = FILE_FIELDS[field] ?? [];
  if (!file || extension === undefined || type === undefined) return undefined;
  const { file_id, file_name, mime_type, file_size } = file;
  const name = field === "video_note" ? "video" : field;
  return {
    file_id,
    filename: file_name ?? `${name}-${message.message_id}.${extension}`,
    content_type: mime_type ?? type,
    size: file_size,
  };
}
