#!/usr/bin/env bash
# clients/: both packages are built and used over a server, with the vendors' own SDKs (end2end/clients/run.py).
# What is installed and built is in target/clients. KEEPSAKE_BIN names the server (target/debug/keepsake).
#
#   tools/clients.sh                checks
#   tools/clients.sh --generate     writes the packages' types out of the server's OpenAPI document
set -euo pipefail
cd "$(dirname "$0")/.."
exec </dev/null
if ! { command -v node && command -v npm; } >/dev/null; then
    echo "✗ the TypeScript SDK needs Node: run \`apt-get install nodejs npm\` as root (or what your system has for it), then again" >&2
    exit 1
fi
home=target/clients
here=end2end/clients
typescript=$home/typescript
mkdir -p $typescript $home/generate

# environment FOLDER REQUIREMENTS
environment() {
    cmp -s "$2" "$1/requirements.txt" && return
    python3 -c 'import sys; sys.path.insert(0, "tools"); from python_env import REPO, make; make(REPO / sys.argv[1], sys.argv[2])' "$1" "$2"
    cp "$2" "$1/requirements.txt"
}

# packages SOURCE FOLDER: what the lock file names
packages() {
    cmp -s "$1/package-lock.json" "$2/node_modules/package-lock.json" && return
    cp "$1"/{package.json,package-lock.json} "$2"
    npm ci --prefix "$2" --ignore-scripts --no-audit --no-fund --loglevel=error
    cp "$1/package-lock.json" "$2/node_modules"
}

environment $home/generate/python $here/generate/requirements.txt
packages $here/generate $home/generate
if [ "${1:-}" = --generate ]; then
    exec python3 tools/with_postgres.py python3 $here/generate/generate.py
fi

environment $home/python $here/requirements.txt
environment $home/frameworks $here/frameworks/requirements.txt
for python in python frameworks; do
    $home/$python/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --force-reinstall ./clients/python
done

# In a copy: nothing is written into the checkout.
packages clients/typescript $typescript
rm -rf $typescript/{src,dist}
cp -r clients/typescript/{package.json,tsconfig.json,src} $here/drive.mjs $typescript
$typescript/node_modules/.bin/tsc -p $typescript

python3 tools/with_postgres.py $home/python/bin/python $here/run.py
