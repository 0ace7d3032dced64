#!/usr/bin/env bash
# What `make test` runs, in the order in which it is likely to fail. Stops at
# the first failure and names its step; the browser is the only part that is
# passed over, loudly, where it cannot be had. Nothing here depends on how fast
# the machine is: what is timed, loaded or killed in series is in `make check`.
set -euo pipefail
cd "$(dirname "$0")/.."
exec </dev/null
unset KEEPSAKE_DATA_DIR # the tests use the PostgreSQL and the model of this checkout
# One PostgreSQL for all steps.
[ -n "${KEEPSAKE_TEST_DATABASE_URL:-}" ] || exec python3 tools/with_postgres.py bash tools/test.sh

# Everything that is fetched, and the islands: made while one core waits for the compiler of the
# server. Each step below asks for what it needs again, so that what went wrong here is said there.
prefetch() {
    python3 tools/fetch_model.py --english
    python3 tools/fetch_llamacpp.py
    browser_is_here && python3 tools/node_packages.py end2end end2end/mcp
    python3 tools/wasm.py --lint
}

current=start
step() { current=$1; printf '\n== %s (%d s so far)\n' "$1" "$SECONDS"; }

# Installs Debian packages as root; otherwise says who must.
install() {
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing Debian's $*"
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@" >/dev/null
    else
        return 1
    fi
}

# Node for clients of MCP, and a Chromium besides for the browser tests, installed where they are missing.
node_is_here() {
    command -v node >/dev/null || install nodejs || return 1
    command -v npm >/dev/null || install npm || return 1
}
browser_is_here() {
    node_is_here || return 1
    command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || install chromium-headless-shell || install chromium || return 1
}

mkdir -p target
prefetch >target/prefetch.log 2>&1 &
prefetching=$!
# With the script its background work ends too.
trap 'code=$?; kill $prefetching 2>/dev/null || true; [ $code = 0 ] || printf "\n✗ make test failed in: %s\n" "$current" >&2' EXIT

step "format"
cargo fmt --all --check

step "what the connect script sends of each client's transcript"
python3 end2end/hooks/transcripts.py

step "one compile: lints, the queries against the migrations, the tests"
python3 tools/with_postgres.py cargo test --workspace --no-run

step "the embedding model and a llama.cpp, for the tests"
python3 tools/fetch_model.py --english
python3 tools/fetch_llamacpp.py

step "tests, on a real PostgreSQL"
# Tests also wait: for the database, a timeout, a stand-in.
export RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((2 * $(nproc)))}"
python3 tools/with_postgres.py cargo test --workspace

step "the pages' files, with the islands' lints"
wait $prefetching || true
python3 tools/wasm.py --lint

step "MCP, OpenAPI, the lines to paste and the pages, on one server"
node_is_here || true # the driver says what to install
browser=
if browser_is_here; then
    python3 tools/node_packages.py end2end
    browser=--browser
fi
python3 tools/with_postgres.py python3 tools/server.py python3 tools/doors.py $browser
[ -n "$browser" ] || echo "!! BROWSER TESTS SKIPPED: run \`apt-get install nodejs npm chromium\` as root, then \`make test\` again."

printf '\n✓ all passed in %d s\n' "$SECONDS"
