PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e

.PHONY: help demo test check docs bench clean

help:              ## list the targets
	@sed -nE 's/^([a-z]+):[^#]*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 10

demo: $(VENV)/.demo    ## grade eight classifiers of digits on two collections, and write a report
	$(BIN)/regrade demo

test: $(VENV)/.dev     ## run every test
	$(BIN)/python -m compileall -q src
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 3 --dist loadscope --no-loadscope-reorder

check: $(VENV)/.dev    ## check style, types, docs and the documentation site
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python scripts/docs.py
	$(BIN)/python scripts/build_site.py

docs: $(VENV)/.dev     ## build the documentation site, build/site/index.html
	$(BIN)/python scripts/docs.py --write
	$(BIN)/python scripts/build_site.py

bench: $(VENV)/.dev    ## measure speed and memory as ratios to named baselines
	$(BIN)/python -m benchmarks

clean:             ## remove the virtual environment and all caches
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) '.[demo]'
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) '.[dev]'
	touch $@ $(VENV)/.demo
