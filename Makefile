# make run: set up, train the first translator, use it.   make test: set up, check everything.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: run test clean

run: .venv/installed
	@$(BIN)/landmark demo

test: .venv/installed-dev .venv/peers/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest --numprocesses=2 --dist=loadfile --max-worker-restart=0 --durations=25 --durations-min=3

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing landmark and what it needs into .venv (once)"
	@$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

.venv/installed-dev: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing landmark with its development tools into .venv (once)"
	@$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@ .venv/installed

# What the tests compare ours with, without its dependencies, in a folder that is not on sys.path:
# a torchvision built for another torch would break `import transformers` for the user.
.venv/peers/installed: constraints.txt | .venv/installed-dev
	@echo "Installing torchvision, timm, OpenSpiel, choix and pycocoevalcap for the tests into .venv/peers (once)"
	@$(BIN)/pip uninstall -qq --yes --disable-pip-version-check torchvision timm
	@$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps --upgrade --target .venv/peers torchvision timm open_spiel choix pycocoevalcap
	@touch $@

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
