# Laxity. `make` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
MODULES := . sdk sdk/adapters tools

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: fmt
fmt: ## format the Go code
	gofmt -w $$(git ls-files '*.go')

# ---- engine ----

.PHONY: engine-lib
engine-lib: ## install the embedded ClickHouse library (once for each machine)
	@engine/chdb/install.sh
