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
  hosts = "IP:127.0.0.1,DNS:localhost",
): Promise<void> {
  const signer = ["-CA", "authority.pem", "-CAkey", "authority.key"];
  const names = ["-addext", `subjectAltName=${hosts}`];
  const use = ["-addext", "basicConstraints=critical,CA:FALSE"];
  const files = ["-keyout", `${name}.key`, "-out", `${name}.pem`, "-subj", `/CN=${name}`];
  await openssl(dir, [...files, ...names, ...use, ...signer]);
}

async function openssl(cwd: string, args: readonly string[]): Promise<void> {
  const command = new Deno.Command("openssl", {
    args: ["req", "-x509", "-days", "2", ...KEY, ...args],
    cwd,
    stdout: "null",
    stderr: "piped",
  });
  const { success, stderr } = await command.output();
  if (!success) throw new Error(`openssl failed: ${new TextDecoder().decode(stderr)}`);
}
