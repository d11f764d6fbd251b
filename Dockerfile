# The image of the relay: docker build -t mesh-relay . (docs/relay.md says how to run it)

# A release resolves these tags to digests, builds with them and publishes them:
#   docker build --build-arg BUILD_IMAGE=node@sha256:… --build-arg RUN_IMAGE=debian@sha256:… .
ARG BUILD_IMAGE=node:24-slim
ARG RUN_IMAGE=debian:trixie-slim

# No instruction of this stage needs root: a test runs each of them (tests/e2e/relay/image_test.ts).
FROM ${BUILD_IMAGE} AS build
WORKDIR /src
ENV DENO_DIR=/src/cache
COPY .ci/deno/package.json .ci/deno/package-lock.json npm/
# The lock file holds the hash of the x64 build. For arm64 npm trusts the hash that the registry sends.
RUN if [ "$(uname -m)" = x86_64 ]; then npm ci --ignore-scripts --no-audit --no-fund --prefix npm; else npm install --no-save --ignore-scripts --no-audit --no-fund --prefix arm @deno/linux-arm64-glibc@2.9.6 && cp -r arm/node_modules npm/; fi
RUN mkdir -p out/bin out/data && cp npm/node_modules/@deno/linux-*/deno out/bin/deno && out/bin/deno --version
# deno.json freezes the lock file, so only packages with a known hash are bundled.
COPY deno.json deno.lock main.ts cli.ts ./
COPY dashboard/deno.json dashboard/
COPY dashboard/files dashboard/files
COPY dashboard/styles/icon.svg dashboard/styles/tokens.css dashboard/styles/
COPY kit kit
COPY protocol protocol
COPY cli cli
COPY daemon daemon
COPY relay relay
COPY surfaces surfaces
COPY tools tools
RUN out/bin/deno bundle --quiet --platform deno -o out/mesh.js main.ts

FROM ${RUN_IMAGE}
COPY --from=build /src/out/bin/deno /usr/local/bin/deno
COPY --from=build /src/out/mesh.js /opt/mesh/mesh.js
COPY --from=build --chown=10001:10001 /src/out/data /data
ENV DENO_NO_UPDATE_CHECK=1 DENO_DIR=/tmp/deno RELAY_HOST=0.0.0.0 RELAY_PORT=8378 RELAY_OAUTH_DB=/data/relay.db
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8378
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["deno", "eval", "const { ok } = await fetch(`http://127.0.0.1:${Deno.env.get('RELAY_PORT')}/health`); Deno.exit(ok ? 0 : 1)"]
ENTRYPOINT ["deno", "run", "--no-config", "--no-prompt", "--unstable-no-legacy-abort", "--allow-net", "--allow-env", "--allow-read=/data", "--allow-write=/data", "--allow-sys=osUptime", "/opt/mesh/mesh.js", "relay"]
