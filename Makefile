# Everything a person or a CI job starts. Needs make and Python 3.11 or newer; the rest goes into .venv.
#   make run     install what the example needs and run examples/digits
#   make test    all checks and tests
#   make lint    ruff, basedpyright
#   make unit    pytest: unit tests, arrows, rules, and the lit files in process
#   make smoke   a subset of the lit files under the real lit
#   make docs    write docs/reference anew
#   make setup   only install, for development

PYTHON ?= python3
BIN := .venv/bin

# The lit files of smoke/ and the first one of every other folder.
SMOKE = $(shell find test/filecheck -name '*.mlir' -not -path '*/Inputs/*' | sort | \
	awk '{ folder = $$0; sub("/[^/]*$$", "", folder) } folder ~ /\/smoke$$/ || !seen[folder]++')

.PHONY: run test lint unit smoke docs setup clean

run: .venv/onnx.stamp
	$(BIN)/python examples/digits/run.py

test: lint unit smoke

lint: setup
	$(BIN)/ruff check
	$(BIN)/basedpyright

unit: setup
	$(BIN)/pytest -q -n 2

smoke: setup
	$(BIN)/lit -q $(SMOKE)

docs: setup
	$(BIN)/python -m npuc.compiler.reference docs/reference

setup: .venv/dev.stamp

clean:
	rm -rf .venv .typings .lit-out build npuc.egg-info

# A stamp is newer than pyproject.toml when that set of extras is installed.
.venv/%.stamp: pyproject.toml setup.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	$(BIN)/python .ci/link_typings.py
	touch $@

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "npuc needs Python 3.11 or newer: make PYTHON=...")'
	$(PYTHON) -m venv .venv
