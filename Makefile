# Laxity. `make` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
MODULES := . sdk sdk/adapters tools
# The product and its tests build without a C compiler; only the race detector needs one.
export CGO_ENABLED ?= 0
# Tests that start an engine or a browser share the machine: a few packages at a time.
TEST_FLAGS ?= -p 2 -timeout 20m

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- run ---------------------------------------------------------------------------------------------------------------

.PHONY: build
build: web ## build bin/laxity with the page inside
	$(GO) build -o bin/laxity ./cmd/laxity

.PHONY: run
run: engine-lib build ## install, build and start everything with sample services; prints the URL
	@bin/laxity up --demo $(RUN_FLAGS)

# --- test --------------------------------------------------------------------------------------------------------------

.PHONY: test
test: engine-lib web ## install what the tests need and run all of them
	@for m in $(MODULES); do echo "== go test: module $$m"; (cd $$m && $(GO) test $(TEST_FLAGS) ./...); done
	@$(MAKE) --no-print-directory web-test

.PHONY: check
check: fmt-check tidy-check vet generate-check test race e2e ## everything that CI runs

.PHONY: fmt
fmt: ## format the Go code
	gofmt -w $$(git ls-files '*.go')

.PHONY: fmt-check
fmt-check:
	@bad=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$bad" ] || { echo "gofmt would change: $$bad; run make fmt"; exit 1; }

.PHONY: tidy-check
tidy-check:
	@for m in $(MODULES); do (cd $$m && $(GO) mod tidy -diff >/dev/null) || { echo "go.mod of module $$m is not tidy; run go mod tidy there"; exit 1; }; done

.PHONY: vet
vet: ## go vet and staticcheck over all modules
	@for m in $(MODULES); do (cd $$m && $(GO) vet ./...); done
	@bin=$$(cd tools && $(GO) tool -n staticcheck); for m in . sdk sdk/adapters; do (cd $$m && $$bin ./...); done

RACE := ./internal/verdict/... ./internal/classify/... ./processor/... ./storage/worker/...
.PHONY: race
race: engine-lib ## the race detector over sdk, verdict and processor (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race -short $(TEST_FLAGS) $(RACE)
	cd sdk && CGO_ENABLED=1 $(GO) test -race -short $(TEST_FLAGS) ./...

.PHONY: e2e
e2e: engine-lib build web-e2e ## the page in a real browser against the real binary

# Collector components whose metadata.yaml generates their telemetry and its documentation.
METADATA := processor/deadlineprocessor processor/deadlineconnector

.PHONY: generate
generate: ## regenerate what is derived: docs of names, TypeScript constants, API types
	cd tools && $(GO) run ./docgen -root ..
	@bin=$$(cd tools && $(GO) tool -n mdatagen); for d in $(METADATA); do (cd $$d && $$bin metadata.yaml); done
	$(GO) run ./dashboards
	cd web && npm run --silent generate

.PHONY: generate-check
generate-check: web-deps generate
	@git diff --exit-code --stat -- docs/attributes.md docs/metrics.md docs/alerts.md dashboards web/src $(METADATA) || { echo "generated files are stale: run make generate and commit"; exit 1; }

.PHONY: soak
soak: engine-lib build ## the long proofs: many kills, long fuzzing
	LAXITY_SOAK=1 $(GO) test -p 1 -timeout 120m ./...
	cd sdk && LAXITY_SOAK=1 $(GO) test -p 1 -timeout 60m ./...

.PHONY: bench
bench: bench-sdk bench-path bench-ingest ## performance as ratios to a named peer

FUZZ_TIME ?= 30s
.PHONY: fuzz
fuzz: ## every fuzz target for FUZZ_TIME each
	@for m in . sdk; do (cd $$m; \
		for p in $$($(GO) list ./...); do \
			for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
				echo "== $$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZ_TIME) $$p; \
			done; \
		done); \
	done

# ---- engine ----

.PHONY: engine-lib
engine-lib: ## install the embedded ClickHouse library (once for each machine)
	@engine/chdb/install.sh

# ---- web ----

WEB_SOURCES := $(shell find web/src web/public -type f 2>/dev/null) web/index.html web/vite.config.ts web/tsconfig.json

.PHONY: web
web: web/dist/index.html ## build the page that the binary embeds

web/dist/index.html: web/node_modules/.package-lock.json $(WEB_SOURCES)
	cd web && npm run --silent build

.PHONY: web-deps
web-deps: web/node_modules/.package-lock.json

web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	@command -v npm >/dev/null || { echo "the page needs Node.js 20.19 or newer with npm"; exit 1; }
	cd web && npm ci --no-fund --no-audit --silent && touch node_modules/.package-lock.json

.PHONY: web-test
web-test: web-deps ## type-check the page and test its model
	cd web && npx tsc --noEmit && npm test

.PHONY: web-e2e
web-e2e: web web-chromium ## the page in Chromium: against LAXITY_URL, else bin/laxity with recorded traces and sample services
	@[ -n "$${LAXITY_URL:-}" ] || [ -x bin/laxity ] || { echo "bin/laxity is missing: run make build"; exit 1; }
	cd web && LAXITY_BINARY=../bin/laxity npm run --silent e2e

.PHONY: web-size
web-size: web web-chromium ## what a first visit transfers (figure first_page_gzip); fails above 350 KB
	cd web && npm run --silent size

.PHONY: web-scale
web-scale: web-deps web-chromium ## how long each page takes at LAXITY_URL, filled beforehand, for example with 100 million hops
	@[ -n "$${LAXITY_URL:-}" ] || { echo "set LAXITY_URL to a Laxity that is filled"; exit 1; }
	cd web && npm run --silent scale

.PHONY: web-screenshots
web-screenshots: web web-chromium ## pictures of LAXITY_PAGES (NAME=PATH …) at LAXITY_URL into LAXITY_SHOTS
	cd web && npm run --silent screenshots

.PHONY: web-chromium
web-chromium:
	@[ -n "$${CHROMIUM:-}" ] || command -v chromium >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; }

# ---- sdk ----

.PHONY: bench-sdk
bench-sdk: ## what the sdk adds to a hop and to an HTTP call, against the same by hand
	@$(GO) run ./internal/bench/sdk

.PHONY: postgres
postgres: ## install PostgreSQL for the tests, where it is missing
	@ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v postgres >/dev/null || \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql >/dev/null; }
test: postgres

# ---- storage ----

.PHONY: clickhouse-server
clickhouse-server: ## install Debian's old ClickHouse for the tests of the native protocol, where it is missing
	@[ -x /usr/sbin/clickhouse-server ] || command -v clickhouse-server >/dev/null || \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq clickhouse-server clickhouse-common >/dev/null; }
test: clickhouse-server

# ---- processor ----

.PHONY: bench-processor
bench-processor: ## the deadline processor beside contrib's transform processor doing the nearest equivalent
	@$(GO) run ./internal/bench/processor
bench: bench-processor

.PHONY: soak-builder
soak-builder: ## build a collector with the builder and the deadline processor, run it, send it spans (part of soak's ./... too)
	LAXITY_SOAK=1 $(GO) test -count=1 -timeout 30m -run TestBuilder ./processor/deadlineprocessor

# ---- path ----

.PHONY: bench-path
bench-path: engine-lib ## spans a second from OTLP to rows, beside the contrib exporter alone
	@$(GO) run ./internal/bench/path

.PHONY: bench-ingest
bench-ingest: engine-lib ## the same with worker and rollups running, and how soon a span is in a report
	@$(GO) run ./internal/bench/path -worker

# ---- durable work ----

.PHONY: soak-durable
soak-durable: postgres ## kill workers 200 times inside the effect protocol
	cd sdk/adapters && LAXITY_SOAK=1 $(GO) test -count=1 -timeout 20m -run Killed ./natsjs
soak: soak-durable

# ---- chains ----

.PHONY: bench-overload
bench-overload: ## one service under five times its load: timeouts, gRPC deadlines, failsafe-go, Laxity; writes docs/overload.png
	@cd sdk/adapters && $(GO) run ./bench/overload -png ../../docs/overload.png

.PHONY: bench-chain
bench-chain: ## five declared steps beside five plain calls with timeouts
	@cd sdk/adapters && $(GO) run ./bench/chain
bench: bench-chain bench-overload

# ---- connector ----

.PHONY: bench-connector
bench-connector: ## the metrics connector beside contrib's spanmetricsconnector: spans a second, processor, memory
	@mkdir -p bin && $(GO) build -o bin/bench-connector ./internal/bench/connector && bin/bench-connector
bench: bench-connector

# ---- alerts ----

.PHONY: prometheus
prometheus: ## install Prometheus and Alertmanager for the tests of rules and dashboards, where they are missing
	@command -v promtool >/dev/null && command -v prometheus-alertmanager >/dev/null || \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq prometheus prometheus-alertmanager >/dev/null; }
test: prometheus

.PHONY: soak-alerts
soak-alerts: engine-lib prometheus ## every alert live: that it comes in the promised time, and its end (part of soak's ./... too)
	LAXITY_SOAK=1 $(GO) test -count=1 -timeout 40m -v -run TestLive ./dashboards

.PHONY: dashboards-shots
dashboards-shots: engine-lib prometheus web-chromium ## draw the answers to every dashboard's queries into docs/dashboards
	@mkdir -p docs/dashboards; dir=$$(mktemp -d); LAXITY_SHOTS=$$dir $(GO) test -count=1 -run TestLive ./dashboards; \
	for page in $$dir/*.html; do \
		$${CHROMIUM:-chromium} --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
			--disable-component-update --disable-sync --hide-scrollbars --user-data-dir=$$(mktemp -d) --window-size=1400,1050 \
			--screenshot=$$PWD/docs/dashboards/$$(basename $$page .html).png file://$$page >/dev/null 2>&1; \
	done

# ---- verdicts ----

.PHONY: bench-verdicts
bench-verdicts: ## how right the verdicts are on sample services with every fault, alone and in pairs, with and without deadline.*
	@$(GO) run ./internal/bench/verdicts
bench: bench-verdicts

# ---- reports over much data ----

BENCH_QUERIES_FLAGS ?=
.PHONY: bench-queries
bench-queries: engine-lib ## reports over 10 M hops beside raw spans; BENCH_QUERIES_FLAGS='-data DIR -big 100000000' for growth
	@mkdir -p bin && $(GO) build -o bin/bench-queries ./internal/bench/queries && bin/bench-queries $(BENCH_QUERIES_FLAGS)
