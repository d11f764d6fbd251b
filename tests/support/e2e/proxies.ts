/** nginx and Caddy with the configurations of docs/proxies.md, on their own ports and folders. */

import { join } from "node:path";
import { makeAuthority, makeCertificate } from "../nats/certificates.ts";
import { until } from "../waiting.ts";

const PAGE = new URL("../../../docs/proxies.md", import.meta.url);

export type ProxyProgram = "nginx" | "caddy";

/** True if a program is installed. */
export function isInstalled(program: ProxyProgram): boolean {
  const args = [program === "nginx" ? "-v" : "version"];
  try {
    return new Deno.Command(program, { args, stdout: "null", stderr: "null" }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** The block of the page in a language. */
function configurationOf(program: ProxyProgram): string {
  const fence = program === "nginx" ? "nginx" : "caddyfile";
  const [, block] = new RegExp("```" + fence + "\n([^]*?)```").exec(Deno.readTextFileSync(PAGE)) ??
    [];
  if (block === undefined) throw new Error(`docs/proxies.md has no block for ${program}`);
  return block;
}

/** Replaces a part of the configuration. Throws if the page lacks the part. */
function mustReplace(text: string, part: string, by: string): string {
  if (!text.includes(part)) throw new Error(`docs/proxies.md has no "${part}"`);
  return text.replaceAll(part, by);
}

function nginxConf(dir: string, { port, upstream, isTls }: Ports): string {
  let server = configurationOf("nginx");
  server = mustReplace(server, "listen 443 ssl", `listen 127.0.0.1:${port}${isTls ? " ssl" : ""}`);
  server = mustReplace(server, "server_name relay.example", "server_name localhost");
  server = mustReplace(server, "/etc/ssl/relay.example", join(dir, "server"));
  server = mustReplace(server, "127.0.0.1:8378", `127.0.0.1:${upstream}`);
  const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${dir}/${name};`).join(" ");
  return `daemon off; master_process off; pid ${dir}/pid; error_log ${dir}/error.log;
    events { } http { access_log off; ${folders} ${server} }`;
}

function caddyfile(dir: string, { port, upstream, isTls }: Ports): string {
  const address = `${isTls ? "https" : "http"}://localhost:${port}`;
  const tls = isTls ? `\n\ttls ${dir}/server.pem ${dir}/server.key` : "";
  let site = mustReplace(configurationOf("caddy"), "relay.example {", `${address} {${tls}`);
  site = mustReplace(site, "127.0.0.1:8378", `127.0.0.1:${upstream}`);
  return `{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n}\n${site}`;
}

interface Ports {
  readonly port: number;
  readonly upstream: number;
  readonly isTls: boolean;
}

export class RunningProxy implements AsyncDisposable {
  readonly url: string;
  /** The authority that signed its certificate; undefined without TLS. */
  readonly authority: string | undefined;
  readonly #dir: string;
  readonly #process: Deno.ChildProcess;

  private constructor(dir: string, process: Deno.ChildProcess, url: string, authority?: string) {
    this.#dir = dir;
    this.#process = process;
    this.url = url;
    this.authority = authority;
  }

  /** Starts a proxy in front of a port of loopback. */
  static async start(program: ProxyProgram, ports: Ports): Promise<RunningProxy> {
    const dir = await Deno.makeTempDir();
    const authority = ports.isTls ? await makeAuthority(dir) : undefined;
    if (ports.isTls) await makeCertificate(dir, "server");
    else for (const end of ["pem", "key"]) await Deno.writeTextFile(join(dir, `server.${end}`), "");
    const conf = join(dir, program === "nginx" ? "nginx.conf" : "Caddyfile");
    const text = program === "nginx" ? nginxConf(dir, ports) : caddyfile(dir, ports);
    // Without TLS, nginx reads no certificate, and the files are empty.
    await Deno.writeTextFile(conf, ports.isTls ? text : text.replaceAll(/ssl_certificate.*;/g, ""));
    const args = program === "nginx"
      ? ["-p", dir, "-c", conf, "-e", join(dir, "error.log")]
      : ["run", "--config", conf, "--adapter", "caddyfile"];
    const env = { HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir };
    const process = new Deno.Command(program, {
      args,
      env,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const scheme = ports.isTls ? "https" : "http";
    const proxy = new RunningProxy(dir, process, `${scheme}://localhost:${ports.port}`, authority);
    await until(`${program} to listen`, async () => {
      try {
        (await Deno.connect({ hostname: "127.0.0.1", port: ports.port })).close();
        return true;
      } catch (error) {
        if (error instanceof Deno.errors.ConnectionRefused) return false;
        throw error;
      }
    });
    return proxy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGTERM");
    await this.#process.status;
    await Deno.remove(this.#dir, { recursive: true });
  }
}

/** A loopback port that was free a moment ago. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
