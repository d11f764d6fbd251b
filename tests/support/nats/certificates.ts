/** Certificates for tests, made with openssl: authorities, and servers that they sign. */

const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/** Makes `NAME.pem` and `NAME.key` of an authority. */
export async function makeAuthority(dir: string, name = "authority"): Promise<string> {
  await openssl(dir, ["-keyout", `${name}.key`, "-out", `${name}.pem`, "-subj", `/CN=${name}`]);
  return `${dir}/${name}.pem`;
}

/** Makes `NAME.pem` and `NAME.key` of a server on this machine, signed by `authority.pem`. */
export async function makeCertificate(
  dir: string,
  name: string,
  hosts = "IP:127.0.0.1,DNS:localhost,DNS:nats.example",
): Promise<void> {
  const signer = ["-CA", "authority.pem", "-CAkey", "authority.key"];
  const names = ["-addext", `subjectAltName=${hosts}`];
  const use = ["-addext", "basicConstraints=critical,CA:FALSE"];
  const files = ["-keyout", `${name}.key`, "-out", `${name}.pem`, "-subj", `/CN=${name}`];
  await openssl(dir, [...files, ...names, ...use, ...signer]);
}

async function openssl(cwd: string, args: readonly string[]): Promise<void> {
  await run(cwd, ["req", "-x509", "-days", "2", ...KEY, ...args]);
}

async function run(cwd: string, args: readonly string[]): Promise<void> {
  const command = new Deno.Command("openssl", {
    args: [...args],
    cwd,
    stdout: "null",
    stderr: "piped",
  });
  const { success, stderr } = await command.output();
  if (!success) throw new Error(`openssl failed: ${new TextDecoder().decode(stderr)}`);
}

/** The faults of the certificates that `makeFaultyCertificate` makes. */
export type CertificateFault = "expired" | "early" | "other_name" | "self_signed";

const AUTHORITY_SETTINGS = `[ca]
default_ca = d
[d]
database = index.txt
new_certs_dir = .
serial = serial
default_md = sha256
policy = p
copy_extensions = copy
unique_subject = no
[p]
commonName = supplied
`;

/** Makes `NAME.pem` and `NAME.key` of a server, each with one fault, by the authority of the folder. */
export async function makeFaultyCertificate(dir: string, fault: CertificateFault): Promise<void> {
  const name = ["-subj", `/CN=${fault}`];
  const hosts = fault === "other_name" ? "DNS:other.example" : "IP:127.0.0.1,DNS:localhost";
  const extensions = [`subjectAltName=${hosts}`, "basicConstraints=critical,CA:FALSE"]
    .flatMap((extension) => ["-addext", extension]);
  const key = ["-keyout", `${fault}.key`];
  if (fault === "self_signed") {
    return await openssl(dir, [...key, "-out", `${fault}.pem`, ...name, ...extensions]);
  }
  await run(dir, ["req", ...KEY, ...key, "-out", `${fault}.csr`, ...name, ...extensions]);
  await Deno.writeTextFile(`${dir}/authority.cnf`, AUTHORITY_SETTINGS);
  await Deno.writeTextFile(`${dir}/index.txt`, "");
  await Deno.writeTextFile(`${dir}/serial`, "01");
  const [from, to] = fault === "expired"
    ? ["20200101000000Z", "20210203040506Z"]
    : [fault === "early" ? "20900101000000Z" : "20200101000000Z", "21000101000000Z"];
  const signer = ["-config", "authority.cnf", "-cert", "authority.pem", "-keyfile"];
  await run(dir, [
    ...["ca", "-batch", "-notext", ...signer, "authority.key"],
    ...["-in", `${fault}.csr`, "-out", `${fault}.pem`, "-startdate", from, "-enddate", to],
  ]);
}
