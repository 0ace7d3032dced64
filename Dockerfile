# Keepsake in a container: the server and its pages, for a PostgreSQL of your
# own (KEEPSAKE_DATABASE_URL). docker-compose.yml starts both.
FROM rust:1.95-bookworm AS builder
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-pip && rm -rf /var/lib/apt/lists/*
RUN rustup target add wasm32-unknown-unknown
WORKDIR /keepsake
COPY . .
# The builtin embedding model, pinned; an image without it would find by words alone.
RUN python3 tools/fetch_model.py && test -s data/runtime/model-all-minilm-l6-v2/model.safetensors
ENV CARGO_PROFILE_RELEASE_LTO=thin CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1
# The caches stay on the building machine; what the image needs is copied out of them.
# Without the islands tools/wasm.py would go on; an image is not complete without them.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/keepsake/target \
    --mount=type=cache,target=/keepsake/.local \
    python3 tools/wasm.py && test -s target/site/pkg/keepsake.wasm \
    && cargo build --release --locked \
    && mkdir /out && cp target/release/keepsake /out/ && cp -r target/site /out/site

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/keepsake --create-home keepsake
COPY --from=builder /out/keepsake /usr/bin/keepsake
COPY --from=builder /out/site /usr/share/keepsake/site
COPY --from=builder --chown=keepsake /keepsake/data/runtime/model-all-minilm-l6-v2 /var/lib/keepsake/runtime/model-all-minilm-l6-v2
ENV KEEPSAKE_LISTEN=0.0.0.0:3000 \
    KEEPSAKE_DATA_DIR=/var/lib/keepsake \
    KEEPSAKE_SITE_DIR=/usr/share/keepsake/site
USER keepsake
WORKDIR /var/lib/keepsake
VOLUME /var/lib/keepsake
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/3000 && printf 'GET /livez HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && grep -q '^HTTP/1.[01] 200' <&3"]
CMD ["keepsake", "serve"]
