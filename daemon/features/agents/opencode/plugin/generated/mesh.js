/**
 * mesh's plugin for opencode: one connection to the daemon of this computer, for the session in
 * front. Written by `mesh setup --agent opencode`, and removed by `--uninstall`. It prints
 * nothing, connects to nothing but loopback, and lets no error of its own reach opencode.
 *
 * Generated from daemon/features/agents/opencode/plugin/main.ts.
 */

// daemon/features/agents/opencode/plugin/main.ts
import { execFileSync } from "node:child_process";
import process2 from "node:process";

// kit/host/file_errors.ts
var READ_ONLY = "make it writable; if another program writes it, such as home-manager, change it there";
var REASONS = {
  EACCES: {
    detail: "permission denied",
    hint: READ_ONLY
  },
  EPERM: {
    detail: "the system does not permit it",
    hint: `${READ_ONLY}; a file may be immutable: lsattr shows it, chattr -i ends it`
  },
  EROFS: {
    detail: "it is on a read-only file system",
    hint: READ_ONLY
  },
  ENOSPC: {
    detail: "no space is left on the disk",
    hint: "free disk space, then try again"
  },
  EDQUOT: {
    detail: "the disk quota is used up",
    hint: "free disk space, then try again"
  },
  EFBIG: {
    detail: "the file would be too large",
    hint: "free disk space, then try again"
  },
  EIO: {
    detail: "the disk or the file system failed",
    hint: "check the disk, then try again"
  },
  EISDIR: {
    detail: "it is a directory",
    hint: "move the directory away, or name a file"
  },
  ENOTDIR: {
    detail: "a part of its path is a file, where a directory is needed",
    hint: "move that file away, or choose another path"
  },
  ENOENT: {
    detail: "it or its directory does not exist",
    hint: "create the directory, or choose another path"
  },
  EEXIST: {
    detail: "it exists already",
    hint: "move it away, or choose another path"
  },
  ENOTEMPTY: {
    detail: "the directory is not empty",
    hint: "move its files away, then try again"
  },
  ELOOP: {
    detail: "its symbolic links lead in a circle",
    hint: "remove or correct the link"
  },
  ENAMETOOLONG: {
    detail: "the path is too long",
    hint: "choose a shorter path"
  },
  EBUSY: {
    detail: "another program uses it",
    hint: "end that program, then try again"
  },
  ETXTBSY: {
    detail: "another program runs it",
    hint: "end that program, then try again"
  },
  EMFILE: {
    detail: "too many files are open",
    hint: "raise the limit: ulimit -n"
  },
  ENFILE: {
    detail: "too many files are open",
    hint: "end other programs, then try again"
  },
  ENXIO: {
    detail: "it is no file",
    hint: "move it away, or choose another path"
  },
  EXDEV: {
    detail: "it is on another file system",
    hint: "choose a path on the same disk"
  }
};

// daemon/host/paths.ts
var InvalidPath = class extends Error {
  name = "InvalidPath";
  /** The way to mend it. */
  hint;
  constructor(detail, hint) {
    super(detail);
    this.hint = hint;
  }
};
function statePath(env) {
  return meshVariable(env, "MESH_STATE") ?? `${xdgFolder(env, "XDG_STATE_HOME") ?? homePath(env, ".local", "state")}/mesh`;
}
function xdgFolder(env, name) {
  const path = env[name] ?? "";
  return path.startsWith("/") ? path : void 0;
}
function meshVariable(env, name) {
  const path = env[name];
  if (!path) return void 0;
  if (path.startsWith("/")) return path;
  throw new InvalidPath(`${name} is "${path}", which is a relative path`, `set ${name} to an absolute path, or unset it`);
}
function homePath(env, ...names) {
  const home = env["HOME"] ?? "";
  if (!home.startsWith("/")) {
    const found = home === "" ? "HOME is not set" : `HOME is "${home}", which is a relative path`;
    throw new InvalidPath(found, "set HOME to the absolute path of your home folder");
  }
  return [
    home.endsWith("/") ? home.slice(0, -1) : home,
    ...names
  ].join("/");
}
var HOOKS_VARIABLE = "MESH_HOOKS";
function hooksAreOff(env) {
  return env[HOOKS_VARIABLE] === "off";
}

// daemon/features/agents/opencode/plugin/ignore_errors.ts
import { readFileSync } from "node:fs";
function ignoreErrors(work) {
  return (...args) => {
    try {
      Promise.resolve(work(...args)).catch(() => void 0);
    } catch {
    }
    return Promise.resolve();
  };
}
function later(ms, work) {
  const timer = setTimeout(ignoreErrors(work), ms);
  unref(timer);
  return timer;
}
function unref(timer) {
  if (typeof timer !== "object" || timer === null || !("unref" in timer)) return;
  if (typeof timer.unref === "function") timer.unref();
}
function readText(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return void 0;
  }
}

// daemon/features/agents/opencode/plugin/session.ts
import process from "node:process";

// daemon/host/terminal_addresses.ts
var KITTY = "kitty:";
function paneOf(env) {
  const tmux = placeOf(env["TMUX_PANE"], tmuxSocketOf(env));
  const kitty = placeOf(env["KITTY_WINDOW_ID"], kittyAddressOf(env));
  const isKittyInside = env["TERM"] === "xterm-kitty" && env["TERM_PROGRAM"] !== "tmux";
  return isKittyInside ? kitty ?? tmux : tmux ?? kitty;
}
function placeOf(pane_id, tmux_socket) {
  return pane_id && tmux_socket ? {
    pane_id,
    tmux_socket
  } : void 0;
}
function tmuxSocketOf(env) {
  return env["TMUX"]?.replace(/,[^,]*,[^,]*$/, "");
}
function kittyAddressOf(env) {
  const path = /^unix:(\/.+)$/.exec(env["KITTY_LISTEN_ON"] ?? "")?.[1];
  return path && `${KITTY}${path}`;
}

// daemon/features/agents/opencode/plugin/connection.ts
import { platform } from "node:process";
var SILENCE_MS_MAX = 65e3;
var HANDSHAKE_MS_MAX = 1e4;
var RETRY_MS = [
  250,
  500,
  1e3,
  2e3,
  5e3
];
var WAITING_MAX = 100;
var FINAL_CODES = /* @__PURE__ */ new Set([
  4004,
  4009
]);
function isUp({ pid, process_started }) {
  if (platform !== "linux" || process_started === void 0) return true;
  const stat = readText(`/proc/${pid}/stat`) ?? "";
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] === process_started;
}
var DaemonConnection = class {
  #state;
  #connectFields;
  #listener;
  #current;
  #connecting;
  #timer;
  #silence;
  #failures = 0;
  #ended = false;
  /** The reports that no connection has taken yet, oldest first. */
  #waiting = [];
  /** `state` is the daemon's state directory; `connectFields` fills the first frame. */
  constructor(state, connectFields, listener) {
    this.#state = state;
    this.#connectFields = connectFields;
    this.#listener = listener;
  }
  /** Opens a connection. A connection that is still open is closed once the new one is accepted. */
  open() {
    clearTimeout(this.#timer);
    if (this.#ended) return;
    this.#connecting?.close();
    this.#connecting = void 0;
    const socket = this.#connect();
    if (!socket) return this.#retry();
    this.#connecting = socket;
    this.#expect(socket, HANDSHAKE_MS_MAX);
    socket.onopen = ignoreErrors(() => {
      const auth_token = readText(`${this.#state}/hook.token`)?.trim();
      const token = auth_token ? {
        auth_token
      } : {};
      socket.send(JSON.stringify({
        type: "connect",
        ...this.#connectFields(),
        ...token
      }));
    });
    socket.onmessage = ignoreErrors(({ data }) => this.#receive(socket, JSON.parse(data)));
    socket.onerror = () => void 0;
    socket.onclose = ignoreErrors(({ code }) => this.#closed(socket, code));
  }
  /** Sends a frame that the daemon asks for again if it was lost. */
  send(frame) {
    if (this.#current?.readyState !== WebSocket.OPEN) return;
    this.#current.send(JSON.stringify(frame));
  }
  /**
   * Reports an event of the agent as soon as a connection takes it, in order. While another
   * connection is being opened, the daemon may already ignore frames on the older one.
   */
  report(frame) {
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push(frame);
    this.#sendWaiting();
  }
  #sendWaiting() {
    if (this.#connecting || this.#current?.readyState !== WebSocket.OPEN) return;
    for (const frame of this.#waiting.splice(0)) this.send(frame);
  }
  end() {
    this.#ended = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    this.#connecting?.close();
    this.#current?.close();
  }
  /** Counts a connection as lost if nothing comes; its own close would wait for the daemon. */
  #expect(socket, ms) {
    clearTimeout(this.#silence);
    this.#silence = later(ms, () => {
      this.#closed(socket, 0);
      socket.close();
    });
  }
  /**
   * Connects to the daemon. The address is read each time, because a restarted daemon may have
   * another port.
   */
  #connect() {
    try {
      const info = JSON.parse(readText(`${this.#state}/daemon.json`) ?? "{}");
      if (!isUp(info)) return void 0;
      const at = new URL("/ws", info.url);
      at.protocol = at.protocol === "https:" ? "wss:" : "ws:";
      return new WebSocket(at.href);
    } catch {
      return void 0;
    }
  }
  #receive(socket, frame) {
    if (socket === this.#current) this.#expect(socket, SILENCE_MS_MAX);
    if (frame["type"] === "ping") {
      return socket.send(JSON.stringify({
        type: "pong",
        ping_id: frame["ping_id"]
      }));
    }
    if (frame["type"] === "connected" && socket === this.#connecting) {
      const older = this.#current;
      this.#current = socket;
      this.#connecting = void 0;
      this.#failures = 0;
      this.#expect(socket, SILENCE_MS_MAX);
      older?.close();
      this.#sendWaiting();
      return this.#listener.up();
    }
    if (socket === this.#current) this.#listener.frame(frame);
  }
  #closed(socket, code) {
    if (socket === this.#current) {
      this.#current = void 0;
      this.#listener.down();
    } else if (socket === this.#connecting) this.#connecting = void 0;
    else return;
    this.#sendWaiting();
    if (!FINAL_CODES.has(code) && !this.#connecting) this.#retry();
  }
  #retry() {
    clearTimeout(this.#timer);
    if (this.#ended) return;
    const ms = RETRY_MS[Math.min(this.#failures++, RETRY_MS.length - 1)] ?? 0;
    this.#timer = later(ms, () => this.open());
  }
};

// daemon/features/agents/opencode/plugin/deliveries.ts
var KNOWN_MAX = 5e3;
var Deliveries = class {
  #known = /* @__PURE__ */ new Map();
  #queue = [];
  #send;
  constructor(send) {
    this.#send = send;
  }
  /** Queues a new message and returns true. A known message is reported again, but not queued. */
  take(frame) {
    const { type, delivery_id: id, correlation_id, framed: text } = frame;
    if (typeof id !== "string" || typeof text !== "string") return false;
    const known = this.#known.get(id);
    if (known) {
      this.#report(known);
      return false;
    }
    const proof = type === "ask" ? String(correlation_id) : id;
    const delivery = {
      id,
      proof,
      text,
      state: "waiting",
      seen: false
    };
    this.#known.set(id, delivery);
    this.#queue.push(delivery);
    for (const { id: id2, state } of this.#known.values()) {
      if (this.#known.size <= KNOWN_MAX) break;
      if (state === "accepted") this.#known.delete(id2);
    }
    return true;
  }
  next() {
    return this.#queue.shift();
  }
  requeue(delivery) {
    delivery.state = "waiting";
    this.#queue.unshift(delivery);
  }
  /** Drops all waiting messages. The daemon keeps undelivered messages and sends them again. */
  dropWaiting() {
    for (const { id } of this.#queue.splice(0)) this.#known.delete(id);
  }
  accepted(delivery) {
    if (delivery.state === "accepted") return;
    delivery.state = "accepted";
    this.#report(delivery);
  }
  rejected({ id }, detail) {
    this.#known.delete(id);
    this.#send({
      type: "delivery_ack",
      delivery_id: id,
      status: "rejected",
      detail
    });
  }
  /**
   * Marks as seen, and returns, the messages whose id appears in a prompt of the agent's
   * transcript.
   */
  markSeenIn(text) {
    const shown = [
      ...this.#known.values()
    ].filter(({ proof, state }) => state !== "waiting" && text.includes(proof));
    for (const delivery of shown) {
      delivery.seen = true;
      delivery.state = "accepted";
      this.#report(delivery);
    }
    return shown;
  }
  #report({ id, state, seen }) {
    if (state !== "accepted") return;
    this.#send({
      type: "delivery_ack",
      delivery_id: id,
      status: "accepted"
    });
    if (seen) this.#send({
      type: "delivery_ack",
      delivery_id: id,
      status: "seen"
    });
  }
};

// daemon/features/agents/opencode/plugin/sessions.ts
var HISTORY_MAX = 200;
var Sessions = class {
  #client;
  /** Sessions of subagents. */
  #children = /* @__PURE__ */ new Set();
  #created = /* @__PURE__ */ new Set();
  constructor(client) {
    this.#client = client;
  }
  /** Records a session that this process created. */
  add({ id, parentID }) {
    if (id) (parentID ? this.#children : this.#created).add(id);
  }
  isCreated(id) {
    return this.#created.has(id);
  }
  /** True unless the session belongs to a subagent. */
  async isRoot(id) {
    if (this.#children.has(id)) return false;
    if (this.#created.has(id)) return true;
    const { data } = await this.#client.session.get({
      path: {
        id
      }
    });
    if (data?.parentID) this.#children.add(id);
    return !data?.parentID;
  }
  /** Creates a session; undefined if opencode refuses. */
  async create() {
    const { data } = await this.#client.session.create({});
    if (data?.id) this.#created.add(data.id);
    return data?.id;
  }
  /** Shows a session on the screen. */
  async select(id) {
    const headers = {
      "content-type": "application/json"
    };
    const options = {
      url: "/tui/select-session",
      body: {
        sessionID: id
      },
      headers
    };
    await this.#client._client?.post(options)?.catch?.(() => void 0);
  }
  /** The most recently used session of this folder. */
  async last() {
    const { data } = await this.#client.session.list();
    const roots = (data ?? []).filter(({ parentID }) => !parentID);
    return roots.sort((a, b) => b.time.updated - a.time.updated)[0]?.id;
  }
  /** The text of a session's latest prompts. */
  async promptsOf(id) {
    const query = {
      limit: HISTORY_MAX
    };
    const { data } = await this.#client.session.messages({
      path: {
        id
      },
      query
    });
    const prompts = (data ?? []).filter(({ info }) => info.role === "user");
    return prompts.flatMap(({ parts }) => parts.map((part) => part.text ?? "")).join("\n");
  }
  /** Stops the session's turn, also while it waits to try the model again. */
  async abort(id) {
    await this.#client.session.abort({
      path: {
        id
      }
    }).catch(() => void 0);
  }
  prompt(id, text) {
    const body = {
      parts: [
        {
          type: "text",
          text
        }
      ]
    };
    return this.#client.session.promptAsync({
      path: {
        id
      },
      body
    });
  }
};

// daemon/features/agents/opencode/plugin/subagents.ts
var KNOWN_MAX2 = 1e3;
var Subagents = class {
  #send;
  /** The kind of each child session. */
  #types = /* @__PURE__ */ new Map();
  #running = /* @__PURE__ */ new Set();
  constructor(send) {
    this.#send = send;
  }
  /** Follows an event of any session; `served` is the id of the session that is the peer's. */
  follow(type, { info, sessionID, status }, served) {
    const id = sessionID ?? info?.id;
    if (id === void 0) return;
    if (type === "session.created") {
      const parent = info?.parentID;
      const isChild = parent !== void 0 && (parent === served || this.#types.has(parent));
      if (isChild) this.#add(id, info?.agent ?? "");
    } else if (!this.#types.has(id) && !this.#running.has(id)) return;
    else if (type === "session.status" && status?.type !== "idle") this.#start(id);
    else if (/^session\.(idle|deleted|status)$/.test(type)) this.#end(id);
  }
  /** Reports the running subagents to a daemon that may not know them. */
  reportAgain() {
    for (const id of this.#running) this.#report(id, "started");
  }
  #add(id, type) {
    this.#types.set(id, type);
    const [oldest] = this.#types.keys();
    if (this.#types.size > KNOWN_MAX2 && oldest !== void 0) this.#types.delete(oldest);
    this.#start(id);
  }
  #start(id) {
    if (this.#running.has(id)) return;
    this.#running.add(id);
    this.#report(id, "started");
  }
  #end(id) {
    if (this.#running.delete(id)) this.#report(id, "ended");
  }
  #report(agent_id, phase) {
    const agent_type = this.#types.get(agent_id) ?? "";
    this.#send({
      type: "subagent",
      agent_id,
      agent_type,
      phase
    });
  }
};

// daemon/features/agents/opencode/plugin/turn.ts
var LIMIT = /\b(rate|usage)[ _-]?limit|quota|too many requests|\b429\b/i;
var Turn = class {
  busy = false;
  /** False before the first prompt of a session that this process created. */
  hasBegun = false;
  model;
  /** The open dialogs by their ids, each with its session. */
  #dialogs = /* @__PURE__ */ new Map();
  /** The limit after whose end opencode tries the model again. */
  #limit;
  /**
   * True after a declined dialog, because opencode then ends the turn without reading later
   * messages.
   */
  #declined = false;
  #answer = {
    id: "",
    texts: /* @__PURE__ */ new Map()
  };
  /**
   * Our messages that no answer has followed yet, as a map from message id to the delivery's proof.
   */
  #unread = /* @__PURE__ */ new Map();
  /** Resets the turn, because another session became active. */
  begin({ hasBegun }) {
    this.busy = false;
    this.hasBegun = hasBegun;
    this.#unread.clear();
  }
  get atDialog() {
    return this.#dialogs.size > 0;
  }
  /**
   * True if a prompt would be read. False at a dialog, because a message that arrives there is
   * never read if the dialog is declined.
   */
  get takesPrompts() {
    return !this.atDialog && !this.#declined;
  }
  /** Called when the state of the session changes. A limit makes opencode try again later. */
  changeStatus({ type, message = "", next }) {
    this.busy = type !== "idle";
    const isLimit = type === "retry" && LIMIT.test(message);
    const reset = next !== void 0 && {
      resets_at: new Date(next).toISOString()
    };
    this.#limit = isLimit ? {
      kind: "limit",
      ...reset
    } : void 0;
  }
  dialog(type, { id = "", requestID = "", sessionID, reply }) {
    const kind = type.startsWith("permission") ? "permission" : "question";
    if (type.endsWith(".asked")) this.#dialogs.set(id, {
      session: sessionID,
      wait: {
        kind
      }
    });
    else if (this.#dialogs.delete(requestID)) {
      this.#declined = reply === "reject" || type.endsWith(".rejected");
    }
  }
  /**
   * Called when the assistant answers a message. All earlier messages then count as read, too,
   * because ids ascend.
   */
  beginAnswer({ id = "", parentID = "", ...model }) {
    if (id !== this.#answer.id) this.#answer = {
      id,
      texts: /* @__PURE__ */ new Map()
    };
    for (const sent of this.#unread.keys()) if (sent <= parentID) this.#unread.delete(sent);
    this.setModel(model);
  }
  part({ id = "", messageID, type, text = "" }) {
    if (type === "text" && messageID === this.#answer.id) this.#answer.texts.set(id, text);
  }
  setModel(model) {
    if (model?.providerID && model.modelID) this.model = `${model.providerID}/${model.modelID}`;
  }
  /** Called when the turn of this session has ended. Returns the text of the turn's last answer. */
  end(session) {
    this.busy = false;
    this.#declined = false;
    this.#limit = void 0;
    for (const [id2, dialog] of this.#dialogs) {
      if (dialog.session === session) this.#dialogs.delete(id2);
    }
    const { id, texts } = this.#answer;
    this.#answer = {
      id: "",
      texts: /* @__PURE__ */ new Map()
    };
    return {
      id,
      text: [
        ...texts.values()
      ].join("\n")
    };
  }
  sent(message_id, proof) {
    this.#unread.set(message_id, proof);
  }
  get hasUnread() {
    return this.#unread.size > 0;
  }
  /** The proofs of the unread messages, each returned once. */
  takeUnread() {
    const proofs = [
      ...this.#unread.values()
    ];
    this.#unread.clear();
    return proofs;
  }
  /** The status frame for the daemon. */
  get status() {
    const rest = this.hasBegun ? "idle" : "pending_first_turn";
    const turn_state = this.atDialog ? "awaiting_input" : this.busy ? "working" : rest;
    const status = this.busy || this.atDialog ? "busy" : "online";
    const model = this.model ? {
      model: this.model
    } : {};
    const [dialog] = this.#dialogs.values();
    const waits_for = dialog?.wait ?? this.#limit;
    return {
      type: "status",
      status,
      turn_state,
      ...model,
      ...waits_for && {
        waits_for
      }
    };
  }
};

// daemon/features/agents/opencode/plugin/session.ts
var HOOK_VERSION = "5";
var UNREAD_AFTER_MS = 1e3;
var NOT_READ = "[mesh] Not read yet, further up:";
var REOPEN_MS = 1e3;
var CHAT_CHARS_MAX = 65536;
var LIMITS = {
  402: "billing_error",
  429: "rate_limit"
};
var ABORTED = "MessageAbortedError";
var ERROR_CLASS = /^[A-Za-z0-9_.-]{1,64}$/;
var Session = class {
  #ctx;
  /** The command line of opencode. */
  #args;
  #connection;
  #deliveries = new Deliveries((frame) => this.#connection.send(frame));
  #sessions;
  #subagents = new Subagents((frame) => this.#connection.report(frame));
  #turn = new Turn();
  #id;
  #reported = "";
  /** The last answer that was reported as aborted. */
  #aborted;
  /** The prompts that a resumed session got from an earlier process. */
  #history = "";
  #reading = false;
  #prompting = false;
  #unreadTimer;
  constructor(ctx, env, args) {
    this.#ctx = ctx;
    this.#args = args;
    this.#sessions = new Sessions(ctx.client);
    this.#connection = new DaemonConnection(statePath(env), () => ({
      ...processFields(ctx, env),
      ...this.#id && {
        runtime_session_id: this.#id
      },
      ...this.#turn.model && {
        model: this.#turn.model
      }
    }), {
      up: () => {
        this.#reportTurn({
          again: true
        });
        this.#subagents.reportAgain();
      },
      down: () => this.#deliveries.dropWaiting(),
      frame: (frame) => {
        if (frame["type"] === "interrupt") void this.#interrupt();
        else if (this.#deliveries.take(frame)) void this.#deliver();
      }
    });
  }
  begin() {
    const resumed = resumedSession(this.#args);
    if (resumed === "last") void this.#serveLast();
    else if (resumed !== void 0) this.#serve(resumed);
    else this.#connection.open();
  }
  end() {
    this.#connection.end();
  }
  /** Prompts the agent with the waiting messages, one after the other. */
  async #deliver() {
    if (this.#prompting) return;
    this.#prompting = true;
    try {
      while (this.#mayPrompt()) {
        const delivery = this.#deliveries.next();
        if (!delivery || !await this.#prompt(delivery)) break;
      }
    } finally {
      this.#prompting = false;
    }
  }
  /** Stops the turn. Its aborted answer reports that. A dialog is left to the user. */
  async #interrupt() {
    if (this.#id === void 0 || !this.#turn.busy || this.#turn.atDialog) return;
    await this.#sessions.abort(this.#id);
  }
  #mayPrompt() {
    if (!this.#turn.takesPrompts || this.#reading) return false;
    return this.#turn.busy || !this.#args.includes("run");
  }
  /** Returns false if no message can be delivered now. */
  async #prompt(delivery) {
    if (this.#history.includes(delivery.proof)) {
      delivery.seen = true;
      this.#deliveries.accepted(delivery);
      return true;
    }
    delivery.state = "prompting";
    const id = this.#id ?? await this.#create();
    if (!id) {
      this.#deliveries.requeue(delivery);
      later(REOPEN_MS, () => this.#deliver());
      return false;
    }
    try {
      const { error, response } = await this.#sessions.prompt(id, delivery.text);
      if (!error) this.#deliveries.accepted(delivery);
      else if (response?.status === 404) {
        if (this.#id === id) this.#id = void 0;
        this.#deliveries.requeue(delivery);
      } else {
        this.#deliveries.rejected(delivery, `opencode answered ${response?.status ?? "an error"}`);
      }
    } catch {
      delivery.state = "unclear";
    }
    return true;
  }
  /** Creates a session if the first screen has none yet. Keeps a draft in the composer. */
  async #create() {
    const id = await this.#sessions.create();
    if (!id) return void 0;
    this.#serve(id);
    await this.#sessions.select(id);
    return id;
  }
  async #serveLast() {
    const last = await this.#sessions.last();
    if (last) this.#serve(last);
    else this.#connection.open();
  }
  /** Makes a session the active one; a new connection reports it to the daemon. */
  #serve(id) {
    if (this.#id === id) return;
    this.#id = id;
    this.#history = "";
    this.#turn.begin({
      hasBegun: !this.#sessions.isCreated(id)
    });
    if (this.#turn.hasBegun) void this.#readHistory(id);
    this.#connection.open();
  }
  /** Reads the prompts that a resumed session got from an earlier process. */
  async #readHistory(id) {
    this.#reading = true;
    try {
      const text = await this.#sessions.promptsOf(id);
      if (this.#id === id) this.#history = text;
    } finally {
      this.#reading = false;
    }
    void this.#deliver();
  }
  /** Handles a message of the user, or one of ours, in any session of this process. */
  async said(id, { message, parts }) {
    if (!await this.#isServed(id)) return;
    this.#serve(id);
    this.#turn.hasBegun = true;
    this.#turn.setModel(message.model);
    const text = parts.filter(({ type, synthetic }) => type === "text" && !synthetic).map((part) => part.text).join("\n");
    const shown = this.#deliveries.markSeenIn(text);
    if (!text.startsWith(NOT_READ)) {
      for (const { proof } of shown) this.#turn.sent(message.id, proof);
    }
    this.#chat("user", text, message.id);
  }
  /** True if the session can be the active one. A subagent's session cannot. */
  async #isServed(id) {
    return this.#id === id || await this.#sessions.isRoot(id);
  }
  async event(type, properties) {
    const { info, sessionID, part } = properties;
    this.#subagents.follow(type, properties, this.#id);
    if (type === "session.created") {
      if (info) this.#sessions.add(info);
    } else if (type === "session.deleted" && (sessionID ?? info?.id) === this.#id) {
      this.#id = void 0;
    } else if (type === "tui.session.select") {
      if (sessionID !== void 0 && await this.#isServed(sessionID)) this.#serve(sessionID);
    } else if (isDialog(type) || (sessionID ?? info?.sessionID ?? part?.sessionID) === this.#id) {
      this.#follow(type, properties);
    }
  }
  #follow(type, properties) {
    const { status, info, part, error } = properties;
    if (isDialog(type)) this.#turn.dialog(type, properties);
    else if (type === "session.status") this.#turn.changeStatus(status ?? {
      type: "busy"
    });
    else if (type === "session.idle") this.#idle();
    else if (type === "session.error") this.#failed(error);
    else if (type === "session.compacted") this.#connection.report({
      type: "compacted"
    });
    else if (type === "message.updated" && info?.role === "assistant") this.#answered(info);
    else if (type === "message.part.updated" && part) this.#turn.part(part);
    this.#reportTurn();
    if (isDialog(type) || type === "session.status") void this.#deliver();
  }
  /** If the user interrupts the turn in the terminal, only the aborted answer shows it. */
  #answered(info) {
    this.#turn.beginAnswer(info);
    if (info.error?.name !== ABORTED || info.id === this.#aborted) return;
    this.#aborted = info.id;
    this.#failed(info.error);
  }
  /** The end of the turn is reported separately. */
  #failed({ name = "", data } = {}) {
    const atLimit = data?.statusCode === void 0 ? void 0 : LIMITS[data.statusCode];
    const known = atLimit ?? (ERROR_CLASS.test(name) ? name : "unknown");
    const error = name === ABORTED ? "interrupted" : known;
    this.#connection.report({
      ...this.#turn.status,
      error
    });
  }
  #idle() {
    const { id, text } = this.#turn.end(this.#id);
    this.#chat("assistant", text, id);
    void this.#deliver();
    clearTimeout(this.#unreadTimer);
    if (this.#turn.hasUnread) {
      this.#unreadTimer = later(UNREAD_AFTER_MS, () => this.#nameUnread());
    }
  }
  /** Names messages that are unread because the user interrupted a turn, without their text. */
  async #nameUnread() {
    if (this.#turn.busy || this.#turn.atDialog || !this.#turn.hasUnread) return;
    const text = `${NOT_READ} ${this.#turn.takeUnread().join(", ")}`;
    if (this.#id !== void 0) await this.#sessions.prompt(this.#id, text);
  }
  #reportTurn({ again = false } = {}) {
    const text = JSON.stringify(this.#turn.status);
    if (text === this.#reported && !again) return;
    this.#reported = text;
    this.#connection.report(this.#turn.status);
  }
  #chat(role, text, turn_id) {
    if (text.trim() === "") return;
    const cut = text.slice(0, CHAT_CHARS_MAX).toWellFormed().replaceAll("\0", "");
    this.#connection.report({
      type: "chat_turn",
      role,
      text: cut,
      turn_id
    });
  }
};
function processFields({ directory }, env) {
  const pane = paneOf(env);
  return {
    display_name: "opencode",
    backend: "opencode",
    path: directory,
    agent_pid: process.pid,
    capabilities: [
      "delivery_receipts",
      "framed_text",
      "interrupt"
    ],
    metadata: {
      hook_version: HOOK_VERSION,
      pane: pane?.pane_id ?? null
    },
    ...pane
  };
}
function isDialog(type) {
  return /^(permission|question)\./.test(type);
}
function resumedSession(args) {
  const at = args.findIndex((arg) => arg === "-s" || arg === "--session");
  const named = args.map((arg) => /^--session=(.+)$/.exec(arg)?.[1]).find(Boolean);
  const id = named ?? (at < 0 ? void 0 : args[at + 1]);
  if (id?.startsWith("ses_")) return id;
  return args.some((arg) => arg === "-c" || arg === "--continue") ? "last" : void 0;
}

// daemon/features/agents/opencode/plugin/main.ts
var nothing = () => Promise.resolve();
var SILENT = {
  event: nothing,
  "chat.message": nothing,
  dispose: nothing
};
var MeshPlugin = (ctx, inputs) => {
  const { env, args } = inputs ?? {
    env: environment(),
    args: commandLine()
  };
  if (hooksAreOff(env)) return Promise.resolve(SILENT);
  const session = new Session(ctx, env, args);
  session.begin();
  return Promise.resolve({
    event: ignoreErrors(({ event }) => session.event(event.type, event.properties ?? {})),
    "chat.message": ignoreErrors((input, output) => session.said(input.sessionID, output)),
    dispose: ignoreErrors(() => session.end())
  });
};
function environment() {
  return Object.fromEntries(Object.entries(process2.env).flatMap(([name, value]) => value === void 0 ? [] : [
    [
      name,
      value
    ]
  ]));
}
function commandLine() {
  return readText("/proc/self/cmdline")?.split("\0") ?? commandLineOfPs();
}
function commandLineOfPs() {
  try {
    const args = [
      "-o",
      "args=",
      "-p",
      String(process2.pid)
    ];
    return execFileSync("ps", args, {
      encoding: "utf8"
    }).trim().split(/\s+/);
  } catch {
    return [];
  }
}
export {
  MeshPlugin
};
