# Every task of the project. On a fresh clone each target first makes its own virtual environment;
# that needs Python 3.11 or later and happens again only when the dependencies change.

PYTHON ?= python3
VENV   ?= .venv
DIST   ?= dist
SITE   ?= build/site
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# Tests at the same time, each on one core.
JOBS   ?= 2

BENCHMARKS  := $(filter-out lines synthetic __init__,$(basename $(notdir $(wildcard benchmarks/*.py))))
EXPERIMENTS := $(basename $(notdir $(shell grep -l '^def draw' experiments/*.py 2>/dev/null)))

.DEFAULT_GOAL := help
.PHONY: help setup node chromium nginx gcc clang qemu-aarch64 demo test test-slow mutants check check-js table2 bench docs docs-site notebooks figures dist wheels tarball sbom clean

help:            ## list the targets
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 12

setup: $(READY)  ## make the virtual environment, if it is missing or out of date

$(READY): pyproject.toml constraints.txt device/python/pyproject.toml examples/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "elasticrec needs Python 3.11 or later, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1);" \
	       "name another one: make PYTHON=python3.12" >&2; exit 1; }
	@echo "==> making $(VENV) and installing the dependencies (once; minutes, mostly torch)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  -c constraints.txt -e ".[train,serve,plots,dev]" -e device/python -e examples
	@touch $@

# Debian's programs for tests of JavaScript, C, the page and published files, where missing.
node: PACKAGES = nodejs
node: TESTS = JavaScript
chromium: PACKAGES = chromium fonts-dejavu-core
chromium: TESTS = browser
nginx: PACKAGES = nginx-light
nginx: TESTS = published files
gcc: PACKAGES = gcc libc6-dev
gcc: TESTS = C
clang: PACKAGES = clang llvm libclang-rt-dev
clang: TESTS = sanitizer
qemu-aarch64: PACKAGES = qemu-user
qemu-aarch64: TESTS = foreign machines'
node chromium nginx gcc clang qemu-aarch64:
	@command -v $@ >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "==> installing Debian's $(PACKAGES) for the $(TESTS) tests" && \
	    { apt-get install -y -qq --no-install-recommends $(PACKAGES) >/dev/null 2>&1 || \
	      { apt-get update -qq && apt-get install -y -qq --no-install-recommends $(PACKAGES); } \
	        >/dev/null 2>&1; }; \
	  fi; \
	  command -v $@ >/dev/null || echo "==> no $@ here: the $(TESTS) tests will be skipped"; }

demo: $(READY)       ## fit the embedded goodbooks, cut one stream at three sizes; FRESH=1 starts over
	@echo "==> the demo: one stream of the embedded goodbooks, cut at three sizes"
	@$(BIN)/python -m elasticrec demo $(if $(FRESH),--fresh)
	@echo "==> to try it in a browser: $(BIN)/elasticrec serve --demo"

test: $(READY) node chromium nginx gcc  ## run the tests: fast, offline
	@echo "==> tests (fast, offline)"
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(JOBS)

test-slow: $(READY) node gcc clang qemu-aarch64  ## run the tests that take minutes, a GPU or data from elsewhere
	@echo "==> slow tests; those without their GPU or data are skipped"
	@$(BIN)/python -m pytest -q -m "slow or gpu or realdata"

mutants: $(READY)    ## break 50 chosen lines one by one, and see the tests notice (minutes)
	@echo "==> mutants, $(JOBS) at a time"
	@$(BIN)/python -m scripts.mutants --jobs $(JOBS)

check: $(READY) check-js  ## lint, format, types, layers, spelling, workflows, generated pages
	@echo "==> lint"           && $(BIN)/ruff check --quiet .
	@echo "==> format"         && $(BIN)/ruff format --quiet --check . || \
	  { echo "run: $(BIN)/ruff format ." >&2; exit 1; }
	@echo "==> types"          && $(BIN)/mypy
	@echo "==> layers"         && $(BIN)/lint-imports --no-cache --no-logo
	@echo "==> spelling"       && $(BIN)/codespell
	@echo "==> workflows"      && $(BIN)/check-jsonschema --quiet \
	  --builtin-schema vendor.github-workflows .github/workflows/*.yml \
	  && $(BIN)/zizmor --offline --quiet --no-progress --persona pedantic .github/workflows
	@echo "==> docs up to date" && $(BIN)/python scripts/cli_reference.py --check \
	  && $(BIN)/python scripts/settings_tables.py --check \
	  && $(BIN)/python scripts/results_page.py --check \
	  && $(BIN)/python scripts/runtimes_page.py --check
	@echo "==> golden files"   && $(BIN)/python scripts/conformance.py --check \
	  && $(BIN)/python scripts/hostile.py --check \
	  && $(BIN)/python scripts/wasm_module.py --check

# The types of the JavaScript runtime, by the one tool that npm has to fetch.
check-js:
	@echo "==> types of JavaScript"
	@cd device/js && if [ ! -x node_modules/.bin/tsc ] && command -v npm >/dev/null; then \
	  npm install --no-package-lock --no-audit --no-fund --silent >/dev/null 2>&1 || true; fi
	@cd device/js && if [ -x node_modules/.bin/tsc ]; then npm run --silent check; \
	else echo "skipped: npm could not install tsc, so the types of JavaScript were not checked"; fi

# Everything of Table 2 for the data sets in $(DATA); PART=test once per release.
DATASET ?= gowalla,yelp2018,amazon-book,amazon-sports,anime
DATA    ?= local
PART    ?= validation

table2: $(READY)     ## measure ours and its rivals at equal bytes: DATASET=gowalla PART=validation
	@$(BIN)/python -m experiments.table2 run --data $(DATA) --dataset $(DATASET) --part $(PART) \
	  --seeds 0,1,2 && $(BIN)/python -m experiments.table2 draw

bench: $(READY)      ## measure speed and memory; appends to benchmarks/results
	@for name in $(BENCHMARKS); do \
	  echo "==> benchmark $$name"; $(BIN)/python -m benchmarks.$$name || exit 1; done

docs: $(READY)       ## write the generated pages
	@echo "==> docs/cli.md from --help" && $(BIN)/python scripts/cli_reference.py
	@echo "==> device/wasm/elasticrec.wasm" && $(BIN)/python scripts/wasm_module.py
	@echo "==> tables of settings from the configs" && $(BIN)/python scripts/settings_tables.py
	@echo "==> docs/results.md from the result lines" && $(BIN)/python scripts/results_page.py
	@echo "==> docs/runtimes.md" && $(BIN)/python scripts/runtimes_page.py

docs-site: $(READY)  ## build the documentation site into build/site, offline
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --site-dir $(abspath $(SITE))

notebooks: $(READY)  ## execute the notebooks in examples/notebooks
	@$(BIN)/python -m scripts.notebooks

figures: $(READY)    ## draw the figures from the committed result lines
	@for name in $(EXPERIMENTS); do \
	  echo "==> figures of $$name"; $(BIN)/python -m experiments.$$name draw || exit 1; done

dist: wheels tarball ## build the wheels, the sdists and the npm tarball into dist/

# The C core is compiled where it is installed.
wheels: $(READY)
	@for folder in . device/python examples; do \
	  (cd $$folder && $(abspath $(BIN))/hatchling build -t wheel -t sdist -d $(abspath $(DIST))) \
	    || exit 1; done
	@cd device/python/native && $(abspath $(BIN))/hatchling build -t sdist -d $(abspath $(DIST))

# npm fetches the one tool that writes the types, unless it is there.
tarball:
	@command -v npm >/dev/null || { echo "==> no npm here: no tarball for it"; exit 0; }; \
	  cd device/js && { test -x node_modules/.bin/tsc || \
	    npm install --no-package-lock --no-audit --no-fund --silent; } \
	  && npm pack --silent --pack-destination $(abspath $(DIST))

sbom: $(READY)       ## list what the image of the service holds, as CycloneDX, in dist/
	@mkdir -p $(DIST) && $(BIN)/python scripts/sbom.py $(DIST)/elasticrec.cdx.json

clean:               ## remove the virtual environment and what the tools left
	@echo "==> removing $(VENV), caches and outputs"
	@rm -rf $(VENV) build dist demo-output test-output .mypy_cache .pytest_cache .ruff_cache \
	  .hypothesis .import_linter_cache device/js/node_modules
