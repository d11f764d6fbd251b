# The relay as an image: docker build -t mesh-relay . (docs/relay.md says how to run it)

# Nothing in this stage needs root, so that a test can run it line by line.
FROM node:24-slim AS build
WORKDIR /src
ENV DENO_DIR=/src/cache
RUN npm install --no-save --no-audit --no-fund --prefix tools deno@2.9.6
COPY deno.json deno.lock main.ts cli.ts ./
COPY kit kit
COPY cli cli
COPY daemon daemon
COPY relay relay
RUN mkdir -p out/bin out/data
RUN tools/node_modules/.bin/deno bundle --quiet --platform deno -o out/mesh.js main.ts
RUN cp tools/node_modules/@deno/linux-*/deno out/bin/deno && out/bin/deno --version

FROM debian:trixie-slim
COPY --from=build /src/out/bin/deno /usr/local/bin/deno
COPY --from=build /src/out/mesh.js /opt/mesh/mesh.js
COPY --from=build --chown=10001:10001 /src/out/data /data
ENV DENO_NO_UPDATE_CHECK=1 DENO_DIR=/tmp/deno RELAY_HOST=0.0.0.0 RELAY_PORT=8378 RELAY_OAUTH_DB=/data/relay.db
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8378
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["deno", "eval", "const { ok } = await fetch(`http://127.0.0.1:${Deno.env.get('RELAY_PORT')}/health`); Deno.exit(ok ? 0 : 1)"]
ENTRYPOINT ["deno", "run", "--no-config", "--no-prompt", "--unstable-no-legacy-abort", "--allow-net", "--allow-env", "--allow-read=/data", "--allow-write=/data", "/opt/mesh/mesh.js", "relay"]
