# Keepsake. `make run` is all that a first try needs; `make` alone lists the rest.
.DEFAULT_GOAL := help
.PHONY: help run check-env build test check check-citus ui bench bench-peers demo pictures dist sqlx fmt
KEEPSAKE := $(or $(CARGO_TARGET_DIR),target)/release/keepsake
CITUS_TESTS := distributed:: api:: isolation:: embedding:: providers:: data:: sessions jobs consolidation:: recall:: entities:: documents:: manage:: oauth:: --skip scopes:: --skip after_a_restore

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

run: check-env build ## Start Keepsake with its own PostgreSQL (the first time: 10 to 15 minutes of compiling)
	@exec $(KEEPSAKE) serve

check-env:
	@python3 tools/check_env.py

build: ## Make all that `run` needs: PostgreSQL, the embedding model, the pages' files, target/release/keepsake
	@[ -x $(KEEPSAKE) ] || echo "First build: fetch PostgreSQL (13 MB) and the embedding model (91 MB), compile the server and the islands. 10 to 15 minutes on two cores; seconds from then on."
	@python3 tools/fetch_postgres.py --unless-given
	@python3 tools/fetch_model.py
	@mkdir -p target
	@python3 tools/wasm.py >target/islands.log 2>&1 & islands=$$!; \
		KEEPSAKE_VERSION="$$(python3 tools/dist.py --version)" cargo build --release && wait $$islands || { kill $$islands 2>/dev/null; cat target/islands.log; exit 1; }; \
		grep "left out" target/islands.log || true # the islands are made beside the server

test: ## Format, lints, queries, tests on a real PostgreSQL, the pages in a browser
	@bash tools/test.sh

check: test build ## The long series, before a release: test, what is timed or loaded, 10,000 requests out of the OpenAPI document, nginx and Caddy in front, docs/reliability.md, bench/guard.json, Anthropic's SDKs, what we build on, fuzzing, the release archive
	python3 tools/with_postgres.py python3 end2end/openapi/run.py --requests 10000
	python3 tools/with_postgres.py python3 end2end/subpath/run.py
	python3 tools/with_postgres.py cargo test --test keepsake -- --ignored --test-threads 1
	KEEPSAKE_TEST_TIMES=1 python3 tools/with_postgres.py cargo test --test keepsake isolation -- --test-threads 1
	python3 tools/with_postgres.py python3 bench/guard.py
	python3 end2end/reliability/run.py
	KEEPSAKE_BIN=$(KEEPSAKE) bash tools/clients.sh
	KEEPSAKE_BIN=$(KEEPSAKE) bash tools/hooks.sh
	bash tools/supply_chain.sh
	python3 tools/fuzz.py
	python3 tools/dist.py && python3 end2end/dist/run.py

# What does not work on Citus is not among them: docs/scaling.md.
check-citus: ## The tests on a Citus cluster: a coordinator and two workers, built from the source in CITUS_SOURCE (docs/scaling.md)
	python3 tools/with_citus.py cargo test --test keepsake -- --test-threads 2 $(CITUS_TESTS)

ui: ## Pages in development: a debug server; after a change, Ctrl-C and again
	@python3 tools/fetch_postgres.py --unless-given
	@python3 tools/fetch_model.py
	@python3 tools/wasm.py
	cargo run -- serve

bench: build ## Where Keepsake stands: searches, growth, quality, into bench/RESULTS.md (45 minutes at most; with LOCOMO=file ERRORS=file)
	@python3 bench/bench.py

bench-peers: build ## Keepsake beside what one would pick instead, on this machine; hours, and it goes on where it was (ARGS="--minutes 40", "--peers keepsake,sql …", "--fresh")
	@python3 bench/peers/run.py $(if $(and $(LOCOMO),$(ERRORS)),--locomo $(LOCOMO) $(ERRORS)) $(ARGS)

demo: build ## Fill a server with memories to look at
	python3 tools/demo.py

pictures: build ## Pictures of all pages into end2end/results/, those of the README into docs/
	KEEPSAKE_BIN=$(KEEPSAKE) node end2end/screenshots.mjs

dist: ## A release for this platform: target/dist/keepsake-VERSION-PLATFORM.tar.gz
	@python3 tools/dist.py

sqlx: ## Renew .sqlx/ after a change to a query or a migration
	python3 tools/sqlx.py

fmt: ## Format the code
	cargo fmt --all
