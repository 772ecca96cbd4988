# Every way to build, run and check Hermes. `make` alone prints the targets.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
TRAINING := build/training
FUZZ := build/fuzz-env
PYTHON_DIRS := $(wildcard src tools tests bench)
ONLY ?=
ARGS ?=
SEEDS ?= 200
KILLS ?= 2000
CUTS ?= 600
MINUTES ?= 120
PATIENCE ?= 1
RESUME ?=
SEED ?= 1
COUNT ?= 440
COMPILE := $(BIN)/uv pip compile --quiet --no-config --universal --python-version 3.11 \
	--generate-hashes --no-header --no-annotate --upgrade

.PHONY: help setup setup-dev run test test-yielding test-training fuzz check check-lint check-format check-types \
	check-imports check-sizes check-outbound check-quality check-patterns format torture mutants bench \
	bench-pairs bench-peers coverage-map docs prove lock clean

help: ## print the targets
	@printf 'Hermes: make TARGET\n\n'
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | \
		while IFS=$$'\t' read -r target text; do printf '  %-13s %s\n' "$$target" "$$text"; done

setup: ## make .venv and install Hermes into it (PYTHON=... picks the interpreter)
	@python=$$(PYTHON="$(PYTHON)" tools/find_python.sh) && "$$python" tools/set_up.py

setup-dev: ## setup, and what the tests and checks need
	@python=$$(PYTHON="$(PYTHON)" tools/find_python.sh) && "$$python" tools/set_up.py --dev

run: setup ## set up and start Hermes (ARGS=... are passed on)
	@exec $(BIN)/hermes up $(ARGS)

# One more than two cores: some tests wait for other programs. Bytecode is kept, since they start Python often.
test: WORKERS ?= 3
test: setup-dev ## set up and run the tests (ONLY=path, WORKERS=n, ARGS=--durations=30 lists the slowest)
	@tools/install_test_parts.sh
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest $(or $(ONLY),tests) -m "not torture" -n $(WORKERS) --dist worksteal $(ARGS)

test-yielding: ## run the tests on a store that lets others run at every call, as one far away does
	@HERMES_TEST_YIELDING=1 $(MAKE) --no-print-directory test

test-training: ## load the training exports with TRL and datasets (installs them under build/, 1.6 GB)
	@python=$$(PYTHON="$(PYTHON)" tools/find_python.sh) && "$$python" tools/set_up.py --training
	@PYTHONPATH=src HF_HUB_OFFLINE=1 HF_HOME=$(abspath $(TRAINING))/hf \
		$(TRAINING)/bin/python -m pytest $(or $(ONLY),tests/training) $(ARGS)

fuzz: setup-dev ## look for bytes that break a reader of what strangers send (installs atheris under build/)
	@cmp -s requirements/fuzz.txt $(FUZZ)/lock.txt || { $(BIN)/python -m venv $(FUZZ) && \
		$(FUZZ)/bin/python -m pip install -q --disable-pip-version-check --require-hashes \
		-r requirements/runtime.txt -r requirements/fuzz.txt && cp requirements/fuzz.txt $(FUZZ)/lock.txt; }
	@PYTHONPATH=src $(FUZZ)/bin/python -m tests.fuzz $(ARGS)

check: setup-dev ## lint, format, types, import rules, sizes, ways out, regular expressions; all are run, also after a failure
	@$(MAKE) --keep-going check-lint check-format check-types check-imports check-sizes check-outbound \
		check-quality check-patterns

check-lint:
	$(BIN)/ruff check

check-format:
	$(BIN)/ruff format --check

check-types:
	$(BIN)/mypy $(PYTHON_DIRS)

check-imports:
	$(BIN)/lint-imports

check-sizes:
	$(BIN)/python tools/size_gate.py

check-outbound:
	$(BIN)/python tools/outbound_gate.py

check-quality:
	$(BIN)/python tools/quality_gate.py

check-patterns:
	$(BIN)/python -m tools.pattern_gate

format: setup-dev ## format the code and sort the imports
	$(BIN)/ruff check --select I --fix
	$(BIN)/ruff format

torture: WORKERS ?= 2
torture: setup-dev ## kill -9 at every failpoint (SEEDS, KILLS, CUTS scale it; RESUME=1 goes on; PATIENCE=5 on a busy machine)
	@$(BIN)/pytest -q tests/torture -n $(WORKERS)
	@HERMES_TORTURE_PATIENCE=$(PATIENCE) $(BIN)/python -m tests.torture --seeds $(SEEDS) --kills $(KILLS) --cuts $(CUTS) \
		--workers $(WORKERS) --minutes $(MINUTES) $(if $(RESUME),--resume) $(ARGS)

mutants: WORKERS ?= 2
mutants: setup-dev ## put faults into the code and count those that a test notices (SEED, COUNT, ONLY=area, RESUME=1, PATIENCE)
	@nice $(BIN)/python -m tests.mutants --seed $(SEED) --count $(COUNT) $(if $(ONLY),--only $(ONLY)) \
		--workers $(WORKERS) --patience $(PATIENCE) $(if $(RESUME),--resume) $(ARGS)

bench: setup-dev ## measure Hermes beside its targets (ONLY=group runs one group)
	@$(BIN)/python -m bench $(if $(ONLY),--only $(ONLY)) $(ARGS)

bench-pairs: PAIRS ?= 10
bench-pairs: setup-dev ## compare with BASE=commit by alternating runs (ONLY=group, PAIRS=n)
	@$(if $(BASE),,$(error name the commit to compare with: make bench-pairs BASE=commit))
	@$(BIN)/python -m bench.compare --base "$(BASE)" $(if $(ONLY),--only $(ONLY)) --pairs $(PAIRS) $(ARGS)

bench-peers: setup-dev ## measure Hermes beside LiteLLM (installs it under build/, about 750 MB)
	@$(BIN)/python -m bench --peers $(ARGS)

docs: setup ## render docs/ as a website: open build/site/index.html
	@$(BIN)/python -m tools.docs_site

coverage-map: setup-dev ## which requirement is proven by which test
	@$(BIN)/python tools/coverage_map.py $(ARGS)

prove: WORKERS ?= 2
prove: setup-dev ## switch each requirement's code off and record which of its tests fail (ARGS="A5 J9" for some)
	@nice $(BIN)/python -m tests.mutants.prove --workers $(WORKERS) --patience $(PATIENCE) $(ARGS)

lock: setup-dev ## resolve requirements/*.in again into the hash-checked locks
	$(COMPILE) requirements/build.in -o requirements/build.txt
	$(COMPILE) requirements/runtime.in -o requirements/runtime.txt
	$(COMPILE) --no-deps requirements/model.in -o requirements/model.txt
	$(COMPILE) --no-deps requirements/recall.in -o requirements/recall.txt
	$(COMPILE) --no-deps requirements/api-docs.in -o requirements/api-docs.txt
	$(COMPILE) requirements/matrix.in -o requirements/matrix.txt
	$(COMPILE) requirements/dev.in -o requirements/dev.txt
	$(COMPILE) --no-deps requirements/fuzz.in -o requirements/fuzz.txt
	$(COMPILE) --excludes requirements/torch.in requirements/training.in -o requirements/training.txt
	$(BIN)/pytest -q tests/unit/tools/test_locks.py

clean: ## remove the environment, caches and measurements
	rm -rf $(VENV) $(VENV).lock bench/out build dist .mypy_cache .ruff_cache .pytest_cache \
		.import_linter_cache .hypothesis src/*.egg-info
	find src tools tests -name __pycache__ -type d -prune -exec rm -rf {} +
