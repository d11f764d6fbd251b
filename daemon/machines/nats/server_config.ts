/** The configuration of a NATS server for a network, written anew from a list of machines. */

import { DAEMON_ID, DIRECTORY, FILES, inboxPrefix, STREAM, SUBJECTS } from "./names.ts";

/** A machine that the server knows. */
export interface ServerMachine {
  readonly daemon_id: string;
  readonly name: string;
  /** The public nkey of its user. */
  readonly public_key: string;
}

/** Paths of files in PEM. With `ca`, the other side must show a certificate of that authority. */
interface ServerTls {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
}

export interface ServerOptions {
  /** Unique among the servers of a cluster. */
  readonly server_name: string;
  /** The address to listen at, such as `0.0.0.0`. */
  readonly host: string;
  /** -1: a free port. */
  readonly port: number;
  /** Without it, the connections are plain. */
  readonly tls?: ServerTls;
  /** The public nkey of the user who may do everything, such as make the store. */
  readonly admin_key: string;
  readonly machines: readonly ServerMachine[];
  /** The store. A leaf node without a store uses the store of its hub. */
  readonly store_dir?: string;
  readonly cluster?: ClusterOptions;
  /** Accepts leaf nodes. */
  readonly leaf_hub?: LeafHub;
  /** This server is a leaf node of another one. */
  readonly leaf_of?: LeafRemote;
}

/** Where a server listens for other servers, which know it by a password. */
interface ServerListener {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly tls?: ServerTls;
}

/** Servers of one cluster each store copies. */
interface ClusterOptions extends ServerListener {
  readonly name: string;
  /** The other servers, as `host:port` of their clusters. */
  readonly routes: readonly string[];
}

/**
 * A leaf node may do everything in the account, so its operator is trusted like that of the hub: it
 * proves its own machines to the hub. Version 2.9 knows no nkeys here.
 */
type LeafHub = ServerListener;

interface LeafRemote {
  /** `host:port` of the hub for leaf nodes. */
  readonly hub: string;
  readonly user: string;
  readonly password: string;
  /** The path of the authority of the hub's certificate. Without it, the connection is plain. */
  readonly ca?: string;
}

/** Room for an entry of 1 MB with its frame and its seal. */
const PAYLOAD_BYTES_MAX = 2 << 20;
const ACCOUNT = "MESH";

/** The text of the configuration. */
export function serverConfig(options: ServerOptions): string {
  const { server_name, host, port, tls, store_dir, cluster, leaf_hub, leaf_of } = options;
  const lines = [
    "# Written by mesh; changes are lost when a machine is added or removed.",
    `server_name: ${quote(server_name)}`,
    `host: ${quote(host)}`,
    `port: ${port}`,
    `max_payload: ${PAYLOAD_BYTES_MAX}`,
    ...tls ? tlsBlock(tls) : [],
    ...store_dir === undefined ? [] : jetstreamBlock(store_dir),
    ...accountBlock(options),
    ...cluster ? clusterBlock(cluster) : [],
    ...leaf_hub || leaf_of ? leafBlock(leaf_hub, leaf_of) : [],
  ];
  return lines.join("\n") + "\n";
}

/** The list with one more machine, or with a new key for a known machine. */
export function addMachine(
  machines: readonly ServerMachine[],
  machine: ServerMachine,
): ServerMachine[] {
  return [...removeMachine(machines, machine.daemon_id), machine];
}

export function removeMachine(
  machines: readonly ServerMachine[],
  daemonId: string,
): ServerMachine[] {
  return machines.filter(({ daemon_id }) => daemon_id !== daemonId);
}

interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/**
 * Permissions of one machine. There is no `allow_responses`: with it, a machine that calls itself
 * with a reply subject of its choice could publish there, and so as another machine.
 *
 * It may create consumers of the two buckets, which every machine reads, but of the stream only its
 * own consumer: the server compares the filter in the subject with the requested filter.
 */
function machinePermissions(me: string): Permissions {
  const { batch, batches, beat, beats, call, calls, answer, answers } = SUBJECTS;
  return {
    publish: [
      batch("*", me),
      call("*", me),
      answer("*", me, "*"),
      beat(me),
      // Its consumer of the stream.
      `$JS.API.CONSUMER.CREATE.${STREAM}.${me}.${batches(me)}`,
      `$JS.API.CONSUMER.DELETE.${STREAM}.${me}`,
      `$JS.API.CONSUMER.INFO.${STREAM}.${me}`,
      `$JS.API.CONSUMER.MSG.NEXT.${STREAM}.${me}`,
      `$JS.ACK.${STREAM}.${me}.>`,
      // Its entry of the directory, and the watch of all entries.
      `$KV.${DIRECTORY}.${me}`,
      ...readPermissions(`KV_${DIRECTORY}`, `$KV.${DIRECTORY}.>`),
      // The bytes of its own files. A file's name is one token, which cannot be limited to it.
      `$O.${FILES}.C.${me}.*`,
      `$O.${FILES}.M.*`,
      `$JS.API.STREAM.MSG.GET.OBJ_${FILES}`,
      ...readPermissions(`OBJ_${FILES}`, `$O.${FILES}.C.*.*`),
    ],
    subscribe: [`${inboxPrefix(me)}.>`, calls(me), answers(me), beats],
  };
}

/** Consumers that end by themselves, and the answers that their flow control needs. */
function readPermissions(stream: string, filter: string): string[] {
  return [`$JS.API.CONSUMER.CREATE.${stream}.*.${filter}`, `$JS.FC.${stream}.>`];
}

function accountBlock({ admin_key, machines, store_dir }: ServerOptions): string[] {
  const admin = `{ nkey: ${quote(admin_key)} }`;
  return block("accounts:", [
    ...block(`${ACCOUNT}:`, [
      // Each stream has its own limit. A limit of the account would fill slowly, because version
      // 2.9 still counts the bytes of replaced messages.
      ...store_dir === undefined ? [] : ["jetstream: enabled"],
      ...list("users:", [admin, ...machines.map(machineUser)]),
    ]),
  ]);
}

function machineUser({ daemon_id, name, public_key }: ServerMachine): string {
  // A wildcard in an id would be a permission for all machines.
  if (!DAEMON_ID.test(daemon_id)) throw new TypeError(`Not a daemon id: "${daemon_id}"`);
  const { publish, subscribe } = machinePermissions(daemon_id);
  return [
    `# ${JSON.stringify(name)}`,
    ...block("", [
      `nkey: ${quote(public_key)}`,
      ...block("permissions:", [
        ...list("publish:", publish.map(quote)),
        ...list("subscribe:", subscribe.map(quote)),
      ]),
    ]),
  ].join("\n");
}

/** Without `max_file_store`, the server takes 3/4 of the free disk, and refuses a larger stream. */
function jetstreamBlock(dir: string): string[] {
  return block("jetstream:", [`store_dir: ${quote(dir)}`]);
}

function tlsBlock({ cert, key, ca }: ServerTls): string[] {
  return block("tls:", [
    `cert_file: ${quote(cert)}`,
    `key_file: ${quote(key)}`,
    ...ca === undefined ? [] : [`ca_file: ${quote(ca)}`, "verify: true"],
  ]);
}

function clusterBlock(cluster: ClusterOptions): string[] {
  const { name, host, port, routes, user, password, tls } = cluster;
  const login = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
  return block("cluster:", [
    `name: ${quote(name)}`,
    `host: ${quote(host)}`,
    `port: ${port}`,
    `authorization: { user: ${quote(user)}, password: ${quote(password)} }`,
    ...tls ? tlsBlock(tls) : [],
    ...list("routes:", routes.map((route) => quote(`nats-route://${login}@${route}`))),
  ]);
}

function leafBlock(hub: LeafHub | undefined, remote: LeafRemote | undefined): string[] {
  // Without this line, both sides keep the subjects of the store to themselves.
  const shared = `default_js_domain: { ${ACCOUNT}: "" }`;
  return [
    shared,
    ...block("leafnodes:", [
      ...hub ? leafHub(hub) : [],
      ...remote ? list("remotes:", [leafRemote(remote)]) : [],
    ]),
  ];
}

function leafHub({ host, port, user, password, tls }: LeafHub): string[] {
  return [
    `host: ${quote(host)}`,
    `port: ${port}`,
    ...block("authorization:", [
      `user: ${quote(user)}`,
      `password: ${quote(password)}`,
      `account: ${ACCOUNT}`,
    ]),
    ...tls ? tlsBlock(tls) : [],
  ];
}

function leafRemote({ hub, user, password, ca }: LeafRemote): string {
  const login = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
  const scheme = ca === undefined ? "nats-leaf" : "tls";
  return block("", [
    ...list("urls:", [quote(`${scheme}://${login}@${hub}`)]),
    `account: ${ACCOUNT}`,
    ...ca === undefined ? [] : [`tls: { ca_file: ${quote(ca)} }`],
  ]).join("\n");
}

/** A text in the syntax of the configuration, which is that of JSON without `\u`. */
function quote(text: string): string {
  // deno-lint-ignore no-control-regex
  if (/[\0-\x1f\x7f\ud800-\udfff]/.test(text)) {
    throw new TypeError("A setting of the server may not hold control characters");
  }
  return JSON.stringify(text);
}

function block(name: string, lines: readonly string[]): string[] {
  return [`${name} {`.trimStart(), ...lines.flatMap(indent), "}"];
}

function list(name: string, items: readonly string[]): string[] {
  return [`${name} [`, ...items.flatMap(indent), "]"];
}

function indent(text: string): string[] {
  return text.split("\n").map((line) => `  ${line}`);
}
