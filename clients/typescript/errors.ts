/** The errors of the client. Each is a `MeshError`, so that one `catch` finds them all. */

/** Something went wrong between this program and the mesh. */
export class MeshError extends Error {
  override readonly name: string = "MeshError";
}

/** No daemon answers at the address, or none is running. */
export class MeshUnreachable extends MeshError {
  override readonly name = "MeshUnreachable";
}

/** The connection has ended for good, and the client does not connect again. */
export class MeshClosed extends MeshError {
  override readonly name = "MeshClosed";
  /** The close code (docs/websocket.md); undefined if the program itself called `close`. */
  readonly code: number | undefined;

  constructor(message: string, code?: number) {
    super(message);
    this.code = code;
  }
}

/** The daemon refused a request. `code` is the error code, such as `unknown_peer`. */
export class MeshRefused extends MeshError {
  override readonly name = "MeshRefused";
  readonly code: string;
  /** The fix, in one sentence. */
  readonly hint: string | undefined;
  /** The whole refusal with its other fields. */
  readonly problem: Readonly<Record<string, unknown>>;

  constructor(problem: Readonly<Record<string, unknown>>) {
    super(String(problem["detail"] ?? problem["error"]));
    this.code = String(problem["error"]);
    this.hint = typeof problem["hint"] === "string" ? problem["hint"] : undefined;
    this.problem = problem;
  }
}

/** The ask has ended without an answer: it was declined, cancelled, expired, and so on. */
export class AskEnded extends MeshError {
  override readonly name = "AskEnded";
  readonly correlationId: string;
  /** The reason for the end, such as `declined`. */
  readonly closeReason: string;

  constructor(correlationId: string, closeReason: string, text: string | null) {
    super(text ? `${closeReason}: ${text}` : `The ask ended without an answer: ${closeReason}`);
    this.correlationId = correlationId;
    this.closeReason = closeReason;
  }
}

/** The answer did not come in time. The ask stays open, and its answer goes to `onReply`. */
export class AskTimeout extends MeshError {
  override readonly name = "AskTimeout";
  readonly correlationId: string;

  constructor(correlationId: string, timeoutMs: number) {
    super(`No answer to ${correlationId} within ${timeoutMs} ms; the ask stays open`);
    this.correlationId = correlationId;
  }
}
