#!/usr/bin/env bash
# What we build on: licences, sources and bans by cargo-deny (tools/deny.toml),
# known holes by cargo-audit. Both are installed where they are missing (some ten
# minutes on two cores, once). KEEPSAKE_ADVISORY_DB names a local copy of the
# RustSec database, where it cannot be fetched.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in cargo-deny cargo-audit; do
    command -v $tool >/dev/null || cargo install --locked $tool
done

cargo deny --config tools/deny.toml check bans licenses sources

accepted=(
    # paste is unmaintained, which is no hole: a macro that runs while compiling, in
    # leptos' own crates, until they leave it.
    RUSTSEC-2024-0436
)
database=()
if [ -n "${KEEPSAKE_ADVISORY_DB:-}" ]; then
    database=(--db "$KEEPSAKE_ADVISORY_DB" --no-fetch)
fi
cargo audit "${database[@]}" --deny warnings "${accepted[@]/#/--ignore=}"
