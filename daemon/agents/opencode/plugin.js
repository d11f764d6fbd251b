/**
 * mesh's plugin for opencode: one line to the daemon of this computer for the session in front.
 * Written by `mesh setup --agent opencode`, and taken away by `--uninstall`. It prints nothing,
 * asks nothing of the network but loopback, and lets no fault of its own reach opencode.
 */

// deno-lint-ignore-file house/time-and-chance-by-the-door -- It runs in opencode, not in mesh.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

/** Raised with what is written here; `mesh doctor` compares it. */
const HOOK_VERSION = "1";
const PATIENCE_MS = [250, 500, 1000, 2000, 5000];
/** The daemon says why it closed: another connection of this process, or a peer that is retired. */
const FOR_GOOD = new Set([4004, 4009]);
/** Deliveries that are remembered, so that none is put to the agent twice. */
const KNOWN_MAX = 5000;
/** Messages of a session that was taken up again, among which repeats are looked for. */
const HISTORY_MAX = 200;
/** A turn that has ended and left a message unread starts no other by itself after so long. */
const UNREAD_AFTER_MS = 1000;
const NOT_READ = "[mesh] Not read yet, further up:";
const OPEN_AGAIN_MS = 1000;
/** 262,144 bytes, whatever the characters are. */
const SAID_CHARS_MAX = 65_536;

/** The only export: opencode takes each for a plugin. `given` is for tests. */
export const MeshPlugin = (ctx, given) => {
  const { env, words } = { env: process.env, words: commandLine(), ...given };
  const session = new Served(ctx, env, words);
  session.begin();
  return Promise.resolve({
    event: quiet(({ event }) => session.event(event.type, event.properties ?? {})),
    "chat.message": quiet((input, output) => session.said(input.sessionID, output)),
    dispose: quiet(() => session.end()),
  });
};

/** What goes wrong in here is never opencode's trouble; nor is it waited for. */
function quiet(work) {
  return (...args) => {
    try {
      Promise.resolve(work(...args)).catch(() => undefined);
    } catch {
      // Silence is the point.
    }
    return Promise.resolve();
  };
}

/** The words that opencode was started with; its plugins run in a worker that has others. */
function commandLine() {
  try {
    return readFileSync("/proc/self/cmdline", "utf8").split("\0");
  } catch {
    return seenByPs();
  }
}

function seenByPs() {
  try {
    const args = ["-o", "args=", "-p", String(process.pid)];
    return execFileSync("ps", args, { encoding: "utf8" }).trim().split(/\s+/);
  } catch {
    return [];
  }
}

function readText(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/**
 * Whether the daemon of this notice runs: at the address of one that has ended another user's
 * program may listen, for the token.
 */
function isUp({ pid, process_started }) {
  if (process.platform !== "linux" || process_started === undefined) return true;
  const stat = readText(`/proc/${pid}/stat`) ?? "";
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] === process_started;
}

function later(ms, work) {
  const timer = setTimeout(quiet(work), ms);
  timer.unref?.(); // opencode ends when it wants to.
  return timer;
}

/** The line to the daemon: opened again for as long as opencode runs, silent while none is up. */
class Line {
  #state;
  #greeting;
  #on;
  #live;
  #opening;
  #timer;
  #failures = 0;
  #over = false;

  constructor(state, greeting, on) {
    this.#state = state;
    this.#greeting = greeting;
    this.#on = on;
  }

  /** Opens, or opens anew beside the one that is up, which goes once the new one is greeted. */
  open() {
    clearTimeout(this.#timer);
    if (this.#over) return;
    this.#opening?.close();
    this.#opening = undefined;
    const socket = this.#dial();
    if (!socket) return this.#again();
    this.#opening = socket;
    socket.onopen = quiet(() => {
      const auth_token = readText(join(this.#state, "hook.token"))?.trim();
      const token = auth_token ? { auth_token } : {};
      socket.send(JSON.stringify({ type: "connect", ...this.#greeting(), ...token }));
    });
    socket.onmessage = quiet(({ data }) => this.#heard(socket, JSON.parse(data)));
    socket.onerror = () => undefined; // Its close follows.
    socket.onclose = quiet(({ code }) => this.#closed(socket, code));
  }

  send(frame) {
    if (this.#live?.readyState !== WebSocket.OPEN) return;
    this.#live.send(JSON.stringify(frame));
  }

  end() {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#opening?.close();
    this.#live?.close();
  }

  /** Looked up each time: a daemon that was started again may be at another port. */
  #dial() {
    try {
      const notice = JSON.parse(readText(join(this.#state, "daemon.json")) ?? "{}");
      if (!isUp(notice)) return undefined;
      const { url } = notice;
      const at = new URL("/ws", url);
      at.protocol = at.protocol === "https:" ? "wss:" : "ws:";
      return new WebSocket(at.href);
    } catch {
      return undefined;
    }
  }

  #heard(socket, frame) {
    if (frame.type === "ping") {
      return socket.send(JSON.stringify({ type: "pong", ping_id: frame.ping_id }));
    }
    if (frame.type === "connected" && socket === this.#opening) {
      const older = this.#live;
      this.#live = socket;
      this.#opening = undefined;
      this.#failures = 0;
      older?.close();
      return this.#on.up();
    }
    if (socket === this.#live) this.#on.frame(frame);
  }

  #closed(socket, code) {
    if (socket === this.#live) {
      this.#live = undefined;
      this.#on.down();
    } else if (socket === this.#opening) this.#opening = undefined;
    else return; // One that a newer one has replaced.
    if (!FOR_GOOD.has(code) && !this.#opening) this.#again();
  }

  #again() {
    clearTimeout(this.#timer);
    if (this.#over) return;
    const ms = PATIENCE_MS[Math.min(this.#failures++, PATIENCE_MS.length - 1)];
    this.#timer = later(ms, () => this.open());
  }
}

/** What the daemon sent, and how far each got: `waiting`, `prompting`, `unclear`, `accepted`. */
class Deliveries {
  #known = new Map();
  #queue = [];
  #tell;

  constructor(tell) {
    this.#tell = tell;
  }

  /** True when it is new; one that was taken before is told of again, and not put twice. */
  take(frame) {
    const known = this.#known.get(frame.delivery_id);
    if (known) {
      this.#report(known);
      return false;
    }
    const proof = frame.type === "ask" ? frame.correlation_id : frame.delivery_id;
    const text = frame.framed;
    const one = { id: frame.delivery_id, proof, text, state: "waiting", seen: false };
    this.#known.set(one.id, one);
    this.#queue.push(one);
    for (const { id, state } of this.#known.values()) {
      if (this.#known.size <= KNOWN_MAX) break;
      if (state === "accepted") this.#known.delete(id);
    }
    return true;
  }

  next() {
    return this.#queue.shift();
  }

  putBack(one) {
    one.state = "waiting";
    this.#queue.unshift(one);
  }

  /** The daemon keeps what was not taken, and sends it again. */
  forgetWaiting() {
    for (const { id } of this.#queue.splice(0)) this.#known.delete(id);
  }

  accepted(one) {
    if (one.state === "accepted") return; // Its own message was faster than the answer.
    one.state = "accepted";
    this.#report(one);
  }

  rejected(one, detail) {
    this.#known.delete(one.id);
    this.#tell({ type: "delivery_ack", delivery_id: one.id, status: "rejected", detail });
  }

  /** A prompt in the agent's own transcript: the messages whose ids it holds. */
  seenIn(text) {
    const shown = [...this.#known.values()].filter(({ proof, state }) =>
      state !== "waiting" && text.includes(proof)
    );
    for (const one of shown) {
      one.seen = true;
      one.state = "accepted";
      this.#report(one);
    }
    return shown;
  }

  #report({ id, state, seen }) {
    if (state !== "accepted") return;
    this.#tell({ type: "delivery_ack", delivery_id: id, status: "accepted" });
    if (seen) this.#tell({ type: "delivery_ack", delivery_id: id, status: "seen" });
  }
}

/** The session in front of this process, its turn, and what is put to it. */
class Served {
  #ctx;
  #env;
  #words;
  #line;
  #deliveries = new Deliveries((frame) => this.#line.send(frame));
  #session;
  #began = false;
  #busy = false;
  #model;
  /** Dialogs that are open: id to session. */
  #dialogs = new Map();
  /** A dialog was declined: opencode ends the turn, and leaves unread what came in meanwhile. */
  #declined = false;
  #told = "";
  #children = new Set();
  #born = new Set();
  #history = "";
  #reading = false;
  #putting = false;
  /** Ids of messages of ours that no answer has followed yet. */
  #unread = new Map();
  #naming;
  #answer = { id: "", texts: new Map() };

  constructor(ctx, env, words) {
    this.#ctx = ctx;
    this.#env = env;
    this.#words = words;
    const home = env.XDG_STATE_HOME || join(env.HOME ?? "/", ".local", "state");
    this.#line = new Line(env.MESH_STATE || join(home, "mesh"), () => this.#greeting(), {
      up: () => this.#tellTurn({ anew: true }),
      down: () => this.#deliveries.forgetWaiting(),
      frame: (frame) => this.#frame(frame),
    });
  }

  begin() {
    const at = this.#words.findIndex((word) => word === "-s" || word === "--session");
    const named = this.#words.map((word) => /^--session=(.+)$/.exec(word)?.[1]).find(Boolean);
    const id = named ?? (at < 0 ? undefined : this.#words[at + 1]);
    if (id?.startsWith("ses_")) this.#adopt(id);
    else if (this.#words.some((word) => word === "-c" || word === "--continue")) this.#adoptLast();
    else this.#line.open();
  }

  end() {
    this.#line.end();
  }

  #greeting() {
    const { TMUX, TMUX_PANE } = this.#env;
    const { directory } = this.#ctx;
    const tmux_socket = TMUX?.split(",")[0];
    const pane = TMUX_PANE && tmux_socket ? { pane_id: TMUX_PANE, tmux_socket } : {};
    return {
      display_name: "opencode", // The daemon names it after its folder.
      backend: "opencode",
      path: directory,
      agent_pid: process.pid,
      capabilities: ["delivery_receipts", "framed_text"],
      metadata: { hook_version: HOOK_VERSION, pane: TMUX_PANE ?? null },
      ...pane,
      ...(this.#session && { runtime_session_id: this.#session }),
      ...(this.#model && { model: this.#model }),
    };
  }

  #frame(frame) {
    if (typeof frame.framed !== "string" || typeof frame.delivery_id !== "string") return;
    if (this.#deliveries.take(frame)) this.#put();
  }

  /** Puts what waits to the agent, one message after the other. */
  async #put() {
    if (this.#putting) return;
    this.#putting = true;
    try {
      while (this.#mayPut()) {
        const one = this.#deliveries.next();
        if (!one || !await this.#prompt(one)) break;
      }
    } finally {
      this.#putting = false;
    }
  }

  /** Not at a dialog: what comes in while one is open is never read if it is declined. */
  #mayPut() {
    if (this.#dialogs.size > 0 || this.#declined || this.#reading) return false;
    // `opencode run` ends with its turn: what comes in later would be lost in its transcript.
    return this.#busy || !this.#words.includes("run");
  }

  /** False when nothing can be put now. */
  async #prompt(one) {
    if (this.#history.includes(one.proof)) {
      one.seen = true;
      this.#deliveries.accepted(one);
      return true;
    }
    one.state = "prompting";
    const id = this.#session ?? await this.#openSession();
    if (!id) {
      this.#deliveries.putBack(one);
      later(OPEN_AGAIN_MS, () => this.#put());
      return false;
    }
    try {
      const parts = [{ type: "text", text: one.text }];
      const { error, response } = await this.#ctx.client.session.promptAsync({
        path: { id },
        body: { parts },
      });
      if (!error) this.#deliveries.accepted(one);
      else if (response?.status === 404) return this.#goneBefore(one, id);
      else this.#deliveries.rejected(one, `opencode answered ${response?.status ?? "an error"}`);
    } catch {
      // It may have been taken: it is not put again, and its own message would prove it.
      one.state = "unclear";
    }
    return true;
  }

  /** The session was deleted under us: the next one takes the message. */
  #goneBefore(one, id) {
    if (this.#session === id) this.#session = undefined;
    this.#deliveries.putBack(one);
    return true;
  }

  /** At the first screen there is no session yet; a draft in its box stays where it is. */
  async #openSession() {
    const { client } = this.#ctx;
    const { data } = await client.session.create({});
    if (!data?.id) return undefined;
    this.#born.add(data.id);
    this.#adopt(data.id);
    const headers = { "content-type": "application/json" };
    const select = { url: "/tui/select-session", body: { sessionID: data.id }, headers };
    await client._client?.post(select)?.catch?.(() => undefined);
    return data.id;
  }

  async #adoptLast() {
    const { data } = await this.#ctx.client.session.list();
    const last = (data ?? []).filter(({ parentID }) => !parentID)
      .sort((a, b) => b.time.updated - a.time.updated)[0];
    if (last) this.#adopt(last.id);
    else this.#line.open();
  }

  /** From now on this is the session in front; the daemon is told by a new greeting. */
  #adopt(id) {
    if (this.#session === id) return;
    this.#session = id;
    this.#history = "";
    this.#busy = false;
    this.#unread.clear();
    this.#began = !this.#born.has(id);
    if (this.#began) this.#read(id);
    this.#line.open();
  }

  /** What a session that is taken up again was told before, by a process that is no more. */
  async #read(id) {
    this.#reading = true;
    try {
      const query = { limit: HISTORY_MAX };
      const { data } = await this.#ctx.client.session.messages({ path: { id }, query });
      const said = (data ?? []).filter(({ info }) => info.role === "user");
      const text = said.flatMap(({ parts }) => parts.map((part) => part.text ?? "")).join("\n");
      if (this.#session === id) this.#history = text;
    } finally {
      this.#reading = false;
    }
    this.#put();
  }

  /** A message of the user's, or of ours, in any session of this process. */
  async said(id, { message, parts }) {
    if (!await this.#isRoot(id)) return;
    this.#adopt(id);
    this.#began = true;
    this.#modelOf(message.model);
    const text = parts.filter(({ type, synthetic }) => type === "text" && !synthetic)
      .map((part) => part.text).join("\n");
    const shown = this.#deliveries.seenIn(text);
    // What only names others is not named itself.
    if (!text.startsWith(NOT_READ)) {
      for (const { proof } of shown) this.#unread.set(message.id, proof);
    }
    this.#chat("user", text, message.id);
  }

  /** A subagent has a session of its own, and is none of ours. */
  async #isRoot(id) {
    if (this.#children.has(id)) return false;
    if (this.#born.has(id) || this.#session === id) return true;
    const { data } = await this.#ctx.client.session.get({ path: { id } });
    if (data?.parentID) this.#children.add(id);
    return !data?.parentID;
  }

  event(type, properties) {
    const { info, sessionID } = properties;
    if (type === "session.created") (info.parentID ? this.#children : this.#born).add(info.id);
    else if (type === "session.deleted" && (sessionID ?? info?.id) === this.#session) {
      this.#session = undefined;
    } else if (type === "tui.session.select") return this.#selected(sessionID);
    else if (/^(permission|question)\./.test(type)) this.#dialog(type, properties);
    else if ((sessionID ?? info?.sessionID ?? properties.part?.sessionID) === this.#session) {
      this.#turn(type, properties);
    }
  }

  async #selected(id) {
    if (await this.#isRoot(id)) this.#adopt(id);
  }

  #dialog(type, { id, requestID, sessionID, reply }) {
    if (type.endsWith(".asked")) this.#dialogs.set(id, sessionID);
    else if (this.#dialogs.delete(requestID)) {
      this.#declined = reply === "reject" || type.endsWith(".rejected");
    }
    this.#tellTurn();
    this.#put();
  }

  #turn(type, { status, info, part }) {
    if (type === "session.status") this.#busy = status.type !== "idle";
    else if (type === "session.idle") this.#idle();
    else if (type === "message.updated" && info.role === "assistant") this.#answering(info);
    else if (type === "message.part.updated" && part.type === "text") {
      if (part.messageID === this.#answer.id) this.#answer.texts.set(part.id, part.text);
    }
    this.#tellTurn();
    if (type === "session.status") this.#put();
  }

  /** An answer to a message is one to all that came before it: ids rise. */
  #answering({ id, parentID, providerID, modelID }) {
    if (id !== this.#answer.id) this.#answer = { id, texts: new Map() };
    for (const sent of this.#unread.keys()) if (sent <= parentID) this.#unread.delete(sent);
    this.#modelOf({ providerID, modelID });
  }

  #idle() {
    this.#busy = false;
    this.#declined = false;
    for (const [id, session] of this.#dialogs) {
      if (session === this.#session) this.#dialogs.delete(id);
    }
    this.#chat("assistant", [...this.#answer.texts.values()].join("\n"), this.#answer.id);
    this.#answer = { id: "", texts: new Map() };
    this.#put();
    clearTimeout(this.#naming); // opencode may say twice that a turn has ended.
    if (this.#unread.size > 0) this.#naming = later(UNREAD_AFTER_MS, () => this.#name());
  }

  /** The user has cut a turn off, with messages of ours in its queue: named once, not repeated. */
  async #name() {
    if (this.#busy || this.#dialogs.size > 0 || this.#unread.size === 0) return;
    const text = `${NOT_READ} ${[...this.#unread.values()].join(", ")}`;
    this.#unread.clear();
    const body = { parts: [{ type: "text", text }] };
    await this.#ctx.client.session.promptAsync({ path: { id: this.#session }, body });
  }

  #modelOf(model) {
    if (model?.providerID && model.modelID) this.#model = `${model.providerID}/${model.modelID}`;
  }

  #tellTurn({ anew = false } = {}) {
    const waiting = this.#dialogs.size > 0;
    const rest = this.#began ? "idle" : "pending_first_turn";
    const turn_state = waiting ? "awaiting_input" : this.#busy ? "working" : rest;
    const status = this.#busy || waiting ? "busy" : "online";
    const model = this.#model ? { model: this.#model } : {};
    const frame = { type: "status", status, turn_state, ...model };
    const said = JSON.stringify(frame);
    if (said === this.#told && !anew) return;
    this.#told = said;
    this.#line.send(frame);
  }

  #chat(role, text, turn_id) {
    if (text.trim() === "") return;
    const said = text.slice(0, SAID_CHARS_MAX).toWellFormed().replaceAll("\0", "");
    this.#line.send({ type: "chat_turn", role, text: said, turn_id });
  }
}
