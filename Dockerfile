# Keepsake in a container: the release of `make dist`, with its own PostgreSQL or yours (KEEPSAKE_DATABASE_URL).
#
#   docker build --tag keepsake --build-arg VERSION="$(python3 tools/dist.py --version)" .
#   docker run --publish 127.0.0.1:3000:3000 --volume keepsake:/var/lib/keepsake keepsake
#
# docker-compose.yml starts it beside a PostgreSQL container.
FROM rust:1.95-bookworm AS builder
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-pip && rm -rf /var/lib/apt/lists/*
RUN rustup target add wasm32-unknown-unknown
WORKDIR /keepsake
COPY . .
ARG VERSION=""
# The caches stay on the building machine; the release is copied out of them.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/keepsake/target \
    --mount=type=cache,target=/keepsake/.local \
    KEEPSAKE_VERSION="$VERSION" python3 tools/dist.py --folder /opt/keepsake

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/keepsake --create-home keepsake
COPY --from=builder /opt/keepsake /opt/keepsake
RUN ln -s /opt/keepsake/keepsake /usr/bin/keepsake
ENV KEEPSAKE_LISTEN=0.0.0.0:3000 \
    KEEPSAKE_DATA_DIR=/var/lib/keepsake
USER keepsake
WORKDIR /var/lib/keepsake
VOLUME /var/lib/keepsake
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/3000 && printf 'GET /livez HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && grep -q '^HTTP/1.[01] 200' <&3"]
CMD ["keepsake", "serve"]
