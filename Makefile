# Two commands do everything on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
PORT ?= 8501
ARGS ?=
START = command -v $(PYTHON) >/dev/null || { echo "There is no $(PYTHON) here. Transformer Atlas needs Python 3.11 or newer: install it from python.org or your system's packages, or name yours: make run PYTHON=/path/to/python" >&2; exit 1; }; $(PYTHON) scripts/start.py
.DEFAULT_GOAL := help

.PHONY: help run test install bench clean

help: ## list these commands
	@sed -n 's/^\([a-z]*\): ## /  make \1\t/p' $(MAKEFILE_LIST)

run: ## set up on first use, then start the app (PORT=8501, PYTHON=python3)
	@$(START) run --port $(PORT)

test: ## set up on first use, then check and test everything (ARGS="-k links" for pytest)
	@$(START) test $(ARGS)

install: ## set up only
	@$(START) install

bench: ## measure speed against what a user would use instead
	@.venv/bin/python -m core bench

clean: ## remove the virtual environment and caches
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
