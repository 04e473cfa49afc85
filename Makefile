# SPDX-License-Identifier: Apache-2.0
# make run, make test: each installs what is missing, builds, and goes. `make help` lists the rest.
BUILD := build/release
PREFIX ?= /usr/local
# Jobs of the build; empty: as many as there are CPUs.
JOBS ?=
# What `make run` passes to `headroom run`: two experiments in some 20 s. `headroom run` without arguments measures all.
ARGS ?= gemv layer_norm --quick
# headroom-torch: AUTO (libtorch is installed; built where it is found), OFF (neither), /path/to/site-packages/torch, or
# python (the torch that python3 imports)
HEADROOM_TORCH ?= AUTO
# headroom-cuda: AUTO (built where nvcc of CUDA 12 or newer is found), ON, OFF
HEADROOM_CUDA ?= AUTO
# What `make test-torch2` installs from PyPI: make test-torch2 TORCH2=torch==2.8.0
TORCH2 ?= torch
# What `make test` and `make ci` pass to ctest: make test CTEST_ARGS="-L unit"
CTEST_ARGS ?=
# Tests that build other builds have the label ci: not what `make test` runs, unless CTEST_ARGS names a label.
without_ci = $(if $(filter -L% --label%,$(CTEST_ARGS)),,-LE '^ci$$')
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)

# `make deb SUITE=trixie`: in a new Debian of that name; empty: on this system
SUITE ?=
# Of the packages of `make dist`
SUITES ?= bookworm trixie
# Of reproducible packages: the commit's; a source archive's files have it.
SOURCE_DATE_EPOCH ?= $(or $(shell git log -1 --format=%ct 2>/dev/null),$(shell stat -c %Y CHANGELOG.md))
deb wheel dist: export SOURCE_DATE_EPOCH := $(SOURCE_DATE_EPOCH)

SOURCES = $(shell find src tests examples bench -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' 2>/dev/null | sort)
# $(call configure,PRESET), $(call build_tree,FOLDER): what they cannot do they say last, with what to do.
configure = @tools/with_reason.sh build/$(1) cmake --preset $(1)
build_tree = @tools/with_reason.sh $(1) cmake --build $(1) $(if $(JOBS),--parallel $(JOBS))

.DEFAULT_GOAL := help
.PHONY: help run test ci test-torch2 setup build programs deb wheel wheels dist docs mutate soak clean install uninstall format lint
# Goals one after the other, also under make -j: a test must not run beside a measurement. Ninja builds in parallel.
.NOTPARALLEL:

help: ## List the targets
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
	  while IFS='|' read -r name text; do printf '%-20s %s\n' "$$name" "$$text"; done

run: programs ## Build headroom and headroom-native and measure this machine (ARGS="gemv --quick")
	$(BUILD)/bin/headroom run $(ARGS)

test: build ## Build everything and run the tests (CTEST_ARGS="-L unit")
	@PYTHON="$(PYTHON)" tools/run_tests.sh $(BUILD) $(without_ci) $(CTEST_ARGS)

ci: build ## Run the tests that build other builds: Clang, AArch64, an emulated CPU, packages, consumers
	@PYTHON="$(PYTHON)" tools/run_tests.sh $(BUILD) -L '^ci$$' $(CTEST_ARGS)

test-torch2: ## The tests on torch once more, with the torch that PyPI has now (a virtual environment in build/)
	@HEADROOM_TORCH="$(HEADROOM_TORCH)" PYTHON="$(PYTHON)" JOBS="$(JOBS)" TORCH2="$(TORCH2)" tools/test_torch2.sh $(CTEST_ARGS)

setup: ## Install the system packages that are missing (packages/)
	@tools/setup.sh build library python test $(if $(filter AUTO ON,$(HEADROOM_TORCH)),torch)

build: setup ## Build everything that this machine can; the programs are in build/release/bin
	$(call configure,release) --log-level=NOTICE -DHEADROOM_TESTS=ON -DHEADROOM_TORCH=$(HEADROOM_TORCH) -DHEADROOM_CUDA=$(HEADROOM_CUDA)
	$(call build_tree,$(BUILD))

# What `make run` needs, and no more: neither libtorch nor the tests' packages, which are found later where they are.
programs:
	@tools/setup.sh build library
	@test -s $(BUILD)/build.ninja || tools/with_reason.sh $(BUILD) cmake --preset release -DHEADROOM_TESTS=OFF -DHEADROOM_TORCH=OFF -DHEADROOM_CUDA=OFF --log-level=NOTICE
	@tools/with_reason.sh $(BUILD) test -s $(BUILD)/build.ninja  # CMake may tell of a full disk by nothing else
	$(call build_tree,$(BUILD)) --target headroom_cli_program headroom_native_program

mutate: build ## Change what differs from SINCE a little, place by place: does a test notice? (SINCE=HEAD~1 MUTATE_ARGS="--most 20")
	@tools/mutate.py --since $(or $(SINCE),HEAD~1) --build $(BUILD) $(MUTATE_ARGS)

soak: setup ## Build with the long tests and the fuzz targets and run only those, four hours (CTEST_ARGS=...)
	@tools/setup.sh fuzz
	@PYTHON="$(PYTHON)" JOBS="$(JOBS)" tools/soak.sh $(CTEST_ARGS)

ifneq ($(SUITE),)
deb:
	@tools/with_reason.sh build tools/debs_in_root.sh $(SUITE) build/deb-$(SUITE) HEADROOM_TORCH=$(HEADROOM_TORCH) HEADROOM_CUDA=$(HEADROOM_CUDA) JOBS=$(JOBS)
else
deb: ## Build Debian packages, in build/deb (HEADROOM_TORCH=OFF: without headroom-torch; SUITE=trixie: in a new Debian 13)
	@tools/setup.sh build library python deb $(if $(filter-out OFF,$(HEADROOM_TORCH)),torch)
	@rm -f build/deb/*.deb build/deb/*.cdx.json
	$(call configure,deb) -DHEADROOM_TORCH=$(HEADROOM_TORCH) -DHEADROOM_CUDA=$(HEADROOM_CUDA)
	$(call build_tree,build/deb)
	@tools/with_reason.sh build/deb cpack --config build/deb/CPackConfig.cmake -B build/deb
	@$(PYTHON) tools/make_sbom.py build/deb/headroom*.deb
endif

wheel: ## Build wheels for pip, in build/wheel: headroom, and with nvcc headroom-cuda (HEADROOM_CUDA=OFF: without)
	@tools/setup.sh build library python
	$(call configure,wheel) --log-level=NOTICE -DHEADROOM_CUDA=$(HEADROOM_CUDA)
	$(call build_tree,build/wheel) --target headroom_wheels

wheels: ## Build wheels for every Linux with glibc 2.27 or newer, x86-64 and AArch64, in build/wheels (needs PyPI)
	@tools/setup.sh build library python wheels
	@JOBS="$(JOBS)" PYTHON="$(PYTHON)" HEADROOM_CUDA="$(HEADROOM_CUDA)" tools/portable/wheels.sh

dist: ## All of a release, in build/dist: source archive, wheels, Debian packages for SUITES, SBOMs, checksums
	@$(PYTHON) tools/make_dist.py $(addprefix --suite=,$(SUITES))

docs: programs ## Render docs/ as a site with search and sample pages, in build/docs
	@tools/setup.sh docs
	$(call build_tree,$(BUILD)) --target headroom_pages_program
	mkdocs build --quiet --strict

install: build ## Install under PREFIX (default /usr/local); DESTDIR is honoured
	cmake --install $(BUILD) --prefix $(PREFIX)

uninstall: ## Remove what `make install` installed; with its DESTDIR
	@tools/uninstall.sh $(BUILD)/install_manifest.txt

format: ## Reformat the C++ sources with clang-format
	@tools/setup.sh --check develop
	clang-format -i $(SOURCES)

lint: setup ## Check layers, types, includes, formatting, and run clang-tidy
	@tools/setup.sh --check develop
	$(PYTHON) tools/check_layers.py
	$(PYTHON) tools/check_types.py
	$(PYTHON) tools/check_includes.py
	clang-format --dry-run --Werror $(SOURCES)
	$(call configure,lint)
	$(call build_tree,build/lint)

clean: ## Remove everything that was built
	rm -rf build
