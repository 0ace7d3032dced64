#!/usr/bin/env bash
# clients/connect: the script that connects agents, with the agents themselves against a model's stand-in
# (end2end/hooks/run.py). They are installed in target/hooks, as end2end/hooks/package-lock.json pins them, some 1.3 GB.
# KEEPSAKE_BIN names the server (target/debug/keepsake).
set -euo pipefail
cd "$(dirname "$0")/.."
exec </dev/null
if ! { command -v node && command -v npm; } >/dev/null; then
    echo "✗ the agents need Node: run \`apt-get install nodejs npm\` as root (or what your system has for it), then again" >&2
    exit 1
fi
home=target/hooks lock=package-lock.json
mkdir -p $home
if ! cmp -s end2end/hooks/$lock $home/node_modules/$lock; then
    cp end2end/hooks/{package.json,$lock} $home
    npm ci --prefix $home --ignore-scripts --no-audit --no-fund --loglevel=error
    cp end2end/hooks/$lock $home/node_modules
fi
python3 tools/with_postgres.py python3 end2end/hooks/run.py "$@"
