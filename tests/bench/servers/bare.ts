/**
 * The yardsticks for messages. A bare server answers JSON and pushes a frame for each request. With
 * the path of a database it is "durable bare": it also stores one row, and the frame and the answer
 * follow the commit.
 */

import { DatabaseSync, type StatementSync } from "node:sqlite";

/** As in the daemon: a commit waits at most this many turns while more rows arrive. */
const COMMIT_TURNS_MAX = 8;

interface Body {
  readonly id: number;
  readonly to?: number;
  readonly text?: string;
}

interface Group extends PromiseWithResolvers<void> {
  rows: number;
}

/** Rows that arrive together share one commit, and each waits for it. */
class Rows {
  readonly #db: DatabaseSync;
  readonly #insert: StatementSync;
  #group: Group | undefined;

  constructor(path: string) {
    this.#db = new DatabaseSync(path);
    this.#db.exec("pragma journal_mode = wal; pragma synchronous = full");
    this.#db.exec("create table messages (seq integer primary key, recipient integer, text text)");
    this.#insert = this.#db.prepare("insert into messages (recipient, text) values (?, ?)");
  }

  insert({ to, text }: Body): Promise<void> {
    const group = this.#group ??= this.#begin();
    this.#insert.run(to ?? null, text ?? "");
    group.rows++;
    return group.promise;
  }

  #begin(): Group {
    this.#db.exec("begin immediate");
    const group = { rows: 0, ...Promise.withResolvers<void>() };
    setImmediate(() => this.#commitWhenIdle(group, group.rows, 0));
    return group;
  }

  #commitWhenIdle(group: Group, rows: number, turns: number): void {
    if (group.rows !== rows && turns < COMMIT_TURNS_MAX) {
      const seen = group.rows;
      setImmediate(() => this.#commitWhenIdle(group, seen, turns + 1));
      return;
    }
    this.#db.exec("commit");
    this.#group = undefined;
    group.resolve();
  }
}

const [path] = Deno.args;
const rows = path === undefined ? undefined : new Rows(path);
const sockets: WebSocket[] = [];
/** By id. A reply may come before the wait for it. */
const replies = new Map<number, PromiseWithResolvers<void>>();

const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, serve);
Deno.stdout.writeSync(
  new TextEncoder().encode(`${JSON.stringify({ port: server.addr.port })}\n`),
);
for await (const _ of Deno.stdin.readable);
Deno.exit(0);

async function serve(request: Request): Promise<Response> {
  if (request.headers.get("upgrade") === "websocket") return connect(request);
  const { pathname } = new URL(request.url);
  const body: Body = await request.json();
  if (pathname === "/wait") {
    await replyTo(body).promise;
    replies.delete(body.id);
  } else {
    await rows?.insert(body);
    publish(pathname, body);
  }
  return Response.json({ id: body.id, ok: true });
}

function publish(pathname: string, body: Body): void {
  if (pathname === "/push") sockets[body.to ?? 0]?.send(JSON.stringify(body));
  if (pathname === "/push_all") sockets.forEach((socket) => socket.send(JSON.stringify(body)));
  if (pathname === "/reply") replyTo(body).resolve();
}

function replyTo({ id }: Body): PromiseWithResolvers<void> {
  const reply = replies.get(id) ?? Promise.withResolvers<void>();
  replies.set(id, reply);
  return reply;
}

function connect(request: Request): Response {
  const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
  sockets.push(socket);
  socket.onclose = () => sockets.splice(sockets.indexOf(socket), 1);
  return response;
}
