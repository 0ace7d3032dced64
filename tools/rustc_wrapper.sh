#!/bin/sh
# RUSTC_WORKSPACE_WRAPPER of the tests' build (tools/compile.py): one compile lints the code, asks a migrated PostgreSQL
# about its queries, and makes what the tests run. Only our own library sees that database: a dependency with queries of
# its own would ask it too. What the library asks is written to KEEPSAKE_SQLX_DIR.
case "$KEEPSAKE_SQLX_URL $*" in
postgres://*" --crate-name keepsake_core "*" src/core/lib.rs "*)
    export DATABASE_URL="$KEEPSAKE_SQLX_URL" SQLX_OFFLINE=false
    case "$*" in
    *" --test "*) ;; # the unit tests ask the same
    *)
        rm -rf "$KEEPSAKE_SQLX_DIR" && mkdir -p "$KEEPSAKE_SQLX_DIR" || exit
        export SQLX_OFFLINE_DIR="$KEEPSAKE_SQLX_DIR"
        ;;
    esac
    ;;
esac
exec clippy-driver "$@"
