# make demo | test | check | bench: each makes what it needs (.venv, web/node_modules, a browser, a compiler) when it is missing.
PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8000
JOBS ?= 2
BIN := .venv/bin
APPS := $(addprefix examples/,digits photo detect background ocr search voice diagnosis filetype count)

.PHONY: demo test check bench browser kernels clean

demo: .venv/.ready web/node_modules/.ready browser
	$(BIN)/python build.py $(APPS) --variants original --precompress gz --out dist
	$(BIN)/python build.py serve dist --host $(HOST) --port $(PORT)

test: check browser kernels
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile tests/core tests/values tests/ops tests/kernels tests/build
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile tests/browser

check: .venv/.ready web/node_modules/.ready
	$(BIN)/clang-format --dry-run -Werror wasm/kernels/src/*
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	cd web && npm run --silent check

bench: .venv/.ready web/node_modules/.ready browser
	$(BIN)/python -m tests.bench

.venv/.ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $@

web/node_modules/.ready: web/package.json web/package-lock.json
	cd web && npm ci --no-progress --loglevel=error
	touch $@

kernels: .venv/.kernels

.venv/.kernels: .venv/.ready $(wildcard wasm/kernels/*.py wasm/kernels/*.toml wasm/kernels/*/*)
	sh wasm/kernels/ensure-compiler.sh $(BIN)/python
	$(BIN)/python -m pip install --quiet ./wasm/kernels
	touch $@

browser:
	@sh tests/browser/ensure-chromium.sh

clean:
	rm -rf .venv web/node_modules dist bench-out
