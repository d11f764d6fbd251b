/** Turns failures of the NATS client into sentences for people and errors of the bus. */

import { UnreachableError } from "kit/net/outgoing/http_client.ts";
import { BusError } from "../bus.ts";
import { type Address, showAddress } from "./addresses.ts";
import { libraries } from "./libraries.ts";

/** Codes of errors of JetStream, which the server lists in its `errors.json`. */
const FULL_CODES = new Set([10002, 10023, 10028, 10047, 10077, 10122]);
const TOO_LARGE_CODE = 10054;
export const STREAM_NOT_FOUND_CODE = 10059;
export const CONSUMER_NOT_FOUND_CODE = 10014;
export const MESSAGE_NOT_FOUND_CODE = 10037;
export const NAME_IN_USE_CODE = 10058;
/** The limits of the streams together exceed that of the server. */
export const NO_ROOM_CODE = 10047;

/** Codes of errors of sockets, certificates and files. */
const SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "the name of its host is unknown",
  EAI_AGAIN: "the name of its host cannot be resolved now",
  EHOSTUNREACH: "its host cannot be reached",
  ENETUNREACH: "its network cannot be reached",
  ETIMEDOUT: "its host does not answer",
  ECONNRESET: "it closed the connection",
  EPIPE: "it closed the connection",
  ERR_STREAM_WRITE_AFTER_END: "it closed the connection",
};

/** Why a server could not be connected or used, in a sentence. */
export async function reasonOf(address: Address, error: unknown): Promise<string> {
  return `The bus at ${showAddress(address)} cannot be used: ${await causeOf(error)}`;
}

async function causeOf(error: unknown): Promise<string> {
  const { errors } = (await libraries()).transport;
  if (error instanceof errors.AuthorizationError) {
    return "it does not know this machine's credentials; its operator must allow them";
  }
  if (error instanceof errors.UserAuthenticationExpiredError) {
    return "this machine's credentials have expired";
  }
  const denied = deniedSubject(error);
  if (denied !== undefined) return `this machine has no permission for "${denied}"`;
  if (isUnanswered(error)) return "JetStream is off there, or its hub cannot be reached";
  if (error instanceof errors.TimeoutError) return "it does not answer";
  if (error instanceof errors.ClosedConnectionError) return SENTENCES["ECONNRESET"] ?? "";
  if (!(error instanceof Error)) return String(error);
  if (error instanceof UnreachableError) return error.message;
  const code = codeOf(error) ?? codeOf(error.cause) ?? "";
  if (SENTENCES[code]) return SENTENCES[code];
  if (error.message === "connection refused") return SENTENCES["ECONNREFUSED"] ?? "";
  if (error.message.includes("does not support 'tls'")) {
    return "it does not offer TLS; set it up, or end the address with ?insecure";
  }
  if (error.message === "unable to parse credentials") {
    return "the credentials file has not the form of one";
  }
  if (error instanceof Deno.errors.NotFound) return `a file is missing: ${error.message}`;
  return error.message;
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** The subject that the server refused, if that is the cause. The client nests its errors. */
export function deniedSubject(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === "PermissionViolationError") return subjectIn(cause);
  }
  return undefined;
}

function subjectIn(error: Error): string {
  return "subject" in error && typeof error.subject === "string" ? error.subject : "";
}

/** The code of an error of JetStream; undefined for any other error. */
export function apiCodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("apiError" in error) || !("code" in error)) return undefined;
  return typeof error.code === "number" ? error.code : undefined;
}

/** True if the server reports that the subject of a request has no listener. */
export function isUnanswered(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === "NoResponders") return true;
  }
  return false;
}

/** True if the server did not answer a request. */
export async function isTimeout(error: unknown): Promise<boolean> {
  const { TimeoutError } = (await libraries()).transport;
  return error instanceof TimeoutError ||
    error instanceof Error && error.cause instanceof TimeoutError;
}

/** The error of the bus for a failed request to JetStream. */
export async function busError(error: unknown): Promise<BusError> {
  if (error instanceof BusError) return error;
  const { TimeoutError, RequestError, ClosedConnectionError } = (await libraries()).transport;
  const detail = error instanceof Error ? error.message : String(error);
  const denied = deniedSubject(error);
  if (denied !== undefined) {
    return new BusError("not_permitted", `The bus does not permit "${denied}"`, "no");
  }
  if (isUnanswered(error)) {
    return new BusError("unreachable", "The bus has no store for machines", "no");
  }
  const code = apiCodeOf(error);
  if (code !== undefined) {
    const reason = FULL_CODES.has(code) ? "full" : code === TOO_LARGE_CODE ? "too_large" : "failed";
    return new BusError(reason, `The bus refused: ${detail}`, "no");
  }
  const isLost = [TimeoutError, RequestError, ClosedConnectionError].some((kind) =>
    error instanceof kind
  );
  return new BusError(isLost ? "unreachable" : "failed", `The bus did not answer: ${detail}`);
}
