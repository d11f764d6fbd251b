#!/bin/sh
# Installs mesh: downloads the file for this machine, checks its hash, and puts it on the PATH.
#   MESH_RELEASES     where the files are (default: the newest release)
#   MESH_INSTALL_DIR  where mesh goes (default: ~/.local/bin)
set -eu

releases=${MESH_RELEASES:-@RELEASES@}
repository=@REPOSITORY@
folder=${MESH_INSTALL_DIR:-${HOME:?it is not set; set it, or MESH_INSTALL_DIR}/.local/bin}

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

download() {
  if command -v curl >/dev/null; then
    curl --fail --silent --show-error --location --output "$2" "$1"
  elif command -v wget >/dev/null; then
    wget --quiet --output-document="$2" "$1"
  else
    fail "needs curl or wget"
  fi || fail "cannot download $1"
}

hash_of() {
  if command -v sha256sum >/dev/null; then
    sha256sum "$1"
  elif command -v shasum >/dev/null; then
    shasum -a 256 "$1"
  else
    fail "needs sha256sum or shasum, to check the download"
  fi | cut -d ' ' -f 1
}

case $(uname -s) in
  Linux) system=unknown-linux-gnu ;;
  Darwin) system=apple-darwin ;;
  *) fail "there is no file for $(uname -s): see docs/install.md" ;;
esac
case $(uname -m) in
  x86_64 | amd64) machine=x86_64 ;;
  aarch64 | arm64) machine=aarch64 ;;
  *) fail "there is no file for the processor $(uname -m): see docs/install.md" ;;
esac
if [ "$system" = unknown-linux-gnu ] && [ -e /etc/alpine-release ]; then
  fail "Alpine has no glibc, which mesh needs"
fi
name=mesh-$machine-$system

temporary=$(mktemp -d) || fail "cannot make a temporary folder; set TMPDIR to a folder of yours"
trap 'rm -rf "$temporary"' EXIT
trap 'exit 1' HUP INT TERM
download "$releases/SHA256SUMS" "$temporary/SHA256SUMS"
download "$releases/$name" "$temporary/mesh"
expected=$(sed -n "s/^\([0-9a-f]\{64\}\) [ *]$name\$/\1/p" "$temporary/SHA256SUMS")
[ -n "$expected" ] || fail "SHA256SUMS does not name $name"
found=$(hash_of "$temporary/mesh")
[ "$found" = "$expected" ] ||
  fail "$name has another hash than SHA256SUMS says; nothing was installed
  expected $expected
  found    $found"

# The hash comes from the same place as the file. The provenance says who built it.
if command -v gh >/dev/null && gh auth status >/dev/null 2>&1; then
  gh attestation verify "$temporary/mesh" --repo "$repository" >/dev/null ||
    fail "the provenance of $name does not name $repository; nothing was installed"
  echo "Checked the hash and the provenance of $name"
else
  echo "Checked the hash of $name. To check who built it: gh attestation verify $folder/mesh --repo $repository"
fi

chmod 755 "$temporary/mesh"
if ! { mkdir -p "$folder" && cp "$temporary/mesh" "$folder/mesh.new"; }; then
  rm -f "$folder/mesh.new"
  fail "cannot write into $folder: make it writable, or name another folder in MESH_INSTALL_DIR"
fi
mv "$folder/mesh.new" "$folder/mesh"
echo "Installed $folder/mesh"
case ":$PATH:" in
  *":$folder:"*) ;;
  *) echo "Add it to your PATH: export PATH=\"$folder:\$PATH\"" ;;
esac
echo "Next: mesh setup"
