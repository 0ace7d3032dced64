#!/usr/bin/env bash
# clients/: both packages are built and used over a server, with the vendor's own SDKs (end2end/clients/run.py).
# What is installed and built is in target/clients. KEEPSAKE_BIN names the server (target/debug/keepsake).
set -euo pipefail
cd "$(dirname "$0")/.."
exec </dev/null
if ! { command -v node && command -v npm; } >/dev/null; then
    echo "✗ the TypeScript SDK needs Node: run \`apt-get install nodejs npm\` as root (or what your system has for it), then again" >&2
    exit 1
fi
home=target/clients
python=$home/python typescript=$home/typescript
mkdir -p $typescript

requirements=end2end/clients/requirements.txt
if ! cmp -s $requirements $python/requirements.txt; then
    python3 -c 'import sys; sys.path.insert(0, "tools"); from python_env import REPO, make; make(REPO / sys.argv[1], sys.argv[2])' $python $requirements
    cp $requirements $python
fi
$python/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --force-reinstall ./clients/python

# In a copy: nothing is written into the checkout.
lock=package-lock.json
if ! cmp -s clients/typescript/$lock $typescript/node_modules/$lock; then
    cp clients/typescript/{package.json,$lock} $typescript
    npm ci --prefix $typescript --ignore-scripts --no-audit --no-fund --loglevel=error
    cp clients/typescript/$lock $typescript/node_modules
fi
rm -rf $typescript/{src,dist}
cp -r clients/typescript/{package.json,tsconfig.json,src} end2end/clients/drive.mjs $typescript
$typescript/node_modules/.bin/tsc -p $typescript

python3 tools/with_postgres.py $python/bin/python end2end/clients/run.py
