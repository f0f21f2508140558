# make run    all set-up, then the smoke scenario, then where its report is
# make test   all set-up, then every test that needs no GPU, but for the nightly ones: unit, protocol, native, scenarios in real guests, and (as root)
#             the smoke scenario under an ordinary user, beside the others
# make check  formatting, lint, types
# make clean  removes what was made in this folder; the cache stays (lab setup tells where it is)

.DEFAULT_GOAL := run
.PHONY: run test check setup clean

# The first Python of 3.11 or later that can make a virtual environment. /usr/bin/python3 before the PATH's, which may belong to another user's home.
PYTHON ?= $(shell for p in /usr/bin/python3 python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

VENV := .venv
READY := $(VENV)/.ready

$(READY): pyproject.toml
	@if [ -z "$(PYTHON)" ]; then .ci/python; fi
	@echo "installing the Python packages into $(VENV)"
	@$${PYTHON:-$(or $(PYTHON),/usr/bin/python3)} -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(READY)

setup: $(READY)
	@$(VENV)/bin/lab setup

run: setup
	@$(VENV)/bin/lab run scenarios/smoke.toml

# Tests start lab some hundred times: a quarter of a second less each where Python is told to write no bytecode by itself.
test: setup
	@$(VENV)/bin/python -m compileall -q lab reports tests backend_impl
	$(VENV)/bin/pytest -m "not gpu" --require=protocol,native,scenario --lab-jobs=2

check: $(READY)
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
