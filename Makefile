# Two commands do everything on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
PORT ?= 8501

.PHONY: run test install bench clean

run: ## set up on first use, then start the app on http://localhost:$(PORT)
	@$(PYTHON) scripts/start.py run --port $(PORT)

test: ## set up on first use, then check and test everything
	@$(PYTHON) scripts/start.py test

install: ## set up only
	@$(PYTHON) scripts/start.py install

bench: ## measure speed against what a user would use instead
	@.venv/bin/python -m core bench

clean: ## remove the virtual environment and caches
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache
