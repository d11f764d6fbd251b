/** The certificates of a served bus: an authority of its own, and the server's, made by openssl. */

import { randomIds, systemClock } from "kit/core/clock.ts";
import { makeDirectory } from "kit/host/durable_files.ts";
import { type Env, readTextOrNothing, removeIfPresent } from "../../../daemon/host/paths.ts";
import { runProgram } from "../../../daemon/host/program_group.ts";
import { CommandError } from "../../client/failures.ts";
import { serverPaths } from "./server_files.ts";

const AUTHORITY_DAYS = "3650";
/** A server's certificate is made anew at each start. */
const SERVER_DAYS = "825";
/** The configuration that `openssl req` requires, although the subject is given. */
const REQUEST_SECTIONS = ["[req]", "distinguished_name = name", "[name]"];
const CURVE = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1"];

/** Makes the certificate of the server for these names and addresses; the authority is kept. */
export async function makeCertificates(env: Env, hosts: readonly string[]): Promise<void> {
  const paths = serverPaths(env);
  makeDirectory(paths.directory);
  if (readTextOrNothing(paths.authority) === undefined) await makeAuthority(env);
  await writeKey(env, paths.key);
  const request = `${paths.certificate}.request`;
  const extensions = `${paths.certificate}.extensions`;
  try {
    writeExtensions(extensions, [
      ...REQUEST_SECTIONS,
      "[extensions]",
      "basicConstraints = critical, CA:FALSE",
      "extendedKeyUsage = serverAuth",
      `subjectAltName = ${hosts.map(alternativeName).join(",")}`,
    ]);
    const subject = ["-subj", "/CN=mesh bus", "-config", extensions];
    await openssl(env, ["req", "-new", "-key", paths.key, "-out", request, ...subject]);
    const signer = ["-CA", paths.authority, "-CAkey", paths.authority_key];
    const serial = ["-set_serial", `0x1${randomIds.hex(15)}`];
    const files = ["-in", request, "-out", paths.certificate];
    const use = ["-extfile", extensions, "-extensions", "extensions"];
    const signing = ["x509", "-req", "-days", SERVER_DAYS, ...signer, ...serial];
    await openssl(env, [...signing, ...files, ...use]);
  } finally {
    removeIfPresent(request);
    removeIfPresent(extensions);
  }
}

/** The certificate of the authority, which the other machines get. */
export function readAuthority(env: Env): string {
  const text = readTextOrNothing(serverPaths(env).authority);
  if (text !== undefined) return text;
  throw new CommandError("The server has no certificate yet; start it with: mesh machines serve");
}

async function makeAuthority(env: Env): Promise<void> {
  const { authority, authority_key } = serverPaths(env);
  const config = `${authority}.config`;
  await writeKey(env, authority_key);
  try {
    writeExtensions(config, [
      ...REQUEST_SECTIONS,
      "[extensions]",
      "basicConstraints = critical, CA:TRUE, pathlen:0",
      "keyUsage = critical, keyCertSign",
    ]);
    const made = ["-key", authority_key, "-out", authority, "-days", AUTHORITY_DAYS];
    const subject = ["-subj", "/CN=mesh bus authority", "-config", config];
    const use = ["-extensions", "extensions"];
    await openssl(env, ["req", "-new", "-x509", ...made, ...subject, ...use]);
  } finally {
    removeIfPresent(config);
  }
}

/** openssl writes a key with mode 0600. */
async function writeKey(env: Env, path: string): Promise<void> {
  await openssl(env, ["genpkey", ...CURVE, "-out", path]);
  Deno.chmodSync(path, 0o600);
}

function writeExtensions(path: string, lines: readonly string[]): void {
  Deno.writeTextFileSync(path, lines.join("\n") + "\n", { mode: 0o600 });
}

function alternativeName(host: string): string {
  return /^[\d.]+$|:/.test(host) ? `IP:${host}` : `DNS:${host}`;
}

/** Making a key takes some milliseconds. */
const OPENSSL_MS_MAX = 30_000;

async function openssl(env: Env, args: readonly string[]): Promise<void> {
  try {
    const options = { env: { ...env }, clock: systemClock, timeout_ms: OPENSSL_MS_MAX };
    const { code, timed_out, stderr } = await runProgram(["openssl", ...args], options);
    if (code === 0) return;
    const why = timed_out ? "it took too long" : stderr.trim().split("\n").at(-1) ?? "";
    throw new CommandError(`openssl ${args[0]} failed: ${why}`);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new CommandError(
      "openssl is not installed; it makes the certificate of the server. Install it, for example " +
        "with: apt install openssl",
    );
  }
}
