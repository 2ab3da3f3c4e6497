# SPDX-License-Identifier: MIT
# One file, no recursion. Sources are found, not listed: a new src/FOLDER/NAME.c is built, a new tests/unit/test_NAME.c is run.
# `make help` lists the targets.

SHELL := /bin/bash
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

CC ?= cc
ifeq ($(origin CC),default)
CC := gcc
endif
VERSION := 0.1.0
B ?= build
PKGS := jansson libcurl libssh libconfig sqlite3 libmicrohttpd libsystemd libssl libcrypto

WARN := -Wall -Wextra -Wconversion -Wno-sign-conversion -Wshadow -Wswitch-enum -Wmissing-prototypes -Wstrict-prototypes \
	-Wvla -Wformat=2 -Wundef -Wpointer-arith -Wcast-qual
CFLAGS ?= -O2 -g
HARDEN := -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE
STD := -std=gnu17 -D_GNU_SOURCE -Isrc -DRG_VERSION='"$(VERSION)"'
PKG_CFLAGS = $(shell pkg-config --cflags $(PKGS))
PKG_LIBS = $(shell pkg-config --libs $(PKGS))
SAN ?=
ifneq ($(SAN),)
HARDEN := -fPIE
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
ifneq ($(COV),)
HARDEN := -fPIE
SANFLAGS := --coverage -O0
endif
ALL_CFLAGS = $(STD) $(CFLAGS) $(HARDEN) $(WARN) $(WERROR) $(SANFLAGS) $(PKG_CFLAGS)
ALL_LDFLAGS = -pie -Wl,-z,relro,-z,now $(SANFLAGS) $(LDFLAGS)

# What every program shares; the daemon's and the command's own files come on top.
LIB_DIRS := base md core conf store wire http nas proxmox client
LIB_SRC := $(foreach d,$(LIB_DIRS),$(wildcard src/$(d)/*.c))
GATE_SRC := $(wildcard src/gate/*.c)
CLI_SRC := $(wildcard src/cli/*.c)
HOOK_SRC := $(wildcard hooks/inner/*.c)
UNIT_SRC := $(wildcard tests/unit/test_*.c)
TOOL_SRC := $(wildcard tests/tools/*.c)

obj = $(patsubst %.c,$(B)/%.o,$(1))
PROGRAMS := $(B)/rebuildgate $(B)/rebuildgated $(B)/rebuildgate-vzdump $(B)/rebuildgate-vzdump-inner
UNITS := $(patsubst tests/unit/%.c,$(B)/unit/%,$(UNIT_SRC))
TOOLS := $(patsubst tests/tools/%.c,$(B)/tools/%,$(TOOL_SRC))

.PHONY: all help clean units tools
all: $(PROGRAMS) ## the programs, in build/

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/librebuildgate.a: $(call obj,$(LIB_SRC))
	@rm -f $@
	ar qcs $@ $^

$(B)/rebuildgated: $(call obj,$(GATE_SRC)) $(B)/librebuildgate.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(B)/rebuildgate: $(call obj,$(CLI_SRC)) $(B)/librebuildgate.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(B)/rebuildgate-vzdump-inner: $(call obj,$(HOOK_SRC)) $(B)/librebuildgate.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

# The outer hook links libc only: it must start where a library is missing.
$(B)/rebuildgate-vzdump: $(call obj,hooks/vzdump.c)
	$(CC) $(ALL_LDFLAGS) -o $@ $^

# What unit tests may reach besides the library: the modules of the daemon, the inner hook and the command, without their mains.
$(B)/libparts.a: $(call obj,$(filter-out %/main.c,$(GATE_SRC) $(HOOK_SRC) $(CLI_SRC)))
	@rm -f $@
	ar qcs $@ $^

$(B)/unit/%: $(B)/tests/unit/%.o $(B)/libparts.a $(B)/librebuildgate.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(PKG_LIBS)

$(B)/tools/%: $(B)/tests/tools/%.o $(B)/librebuildgate.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

# The simulation: core, trackers and policies as they are, the daemon's reading of a NAS as it is, and a clock of its own.
SIM_SRC := $(wildcard tests/sim/*.c)
$(B)/sim/sim: $(call obj,$(SIM_SRC)) $(B)/src/gate/reading.o $(B)/src/gate/reading_memory.o $(B)/librebuildgate.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

units: $(UNITS) ## the unit tests, not run

.PHONY: sim
sim: $(B)/sim/sim ## the simulation, not run

tools: $(TOOLS) ## programs that only tests use

clean: ## remove build/
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | sort | awk -F'\t' '{printf "  make %-16s %s\n", $$1, $$2}'

-include $(shell find $(B) -path '*/trixie' -prune -o -type f -name '*.d' -print 2>/dev/null)

.PHONY: check check-rig check-trixie lint cover fuzz bench bench-rebuild demo
check: ## everything that needs no virtual machine: lint, unit, fuzz corpus, simulation, the real programs
	@bash tests/deps.sh check
	@$(MAKE) --no-print-directory -j2 all units tools B=$(B)
	@$(MAKE) --no-print-directory -j2 all units tools fuzz-replay sim B=$(B)/san SAN=1
	@bash tests/check.sh $(B) $(B)/san

check-rig: ## the slower tests on real md, real SSH, the real daemon and hook
	@bash tests/deps.sh rig
	@$(MAKE) --no-print-directory -j2 all tools B=$(B)
	@BUILD=$(B) bash tests/rig/check.sh

check-trixie: ## build and unit tests on Debian 13, in a debootstrapped folder
	@bash tests/trixie.sh

lint: all ## format, cppcheck, shellcheck, the purity wall
	@bash tests/lint.sh $(B)

cover: ## line and branch coverage of src/core; fails below 100 %
	@bash tests/cover.sh

demo: ## a real rebuild holds a real hook, in three minutes
	@bash tests/rig/demo.sh

bench: all tools ## latency of decisions and the hook, memory, CPU, parser throughput
	@BUILD=$(B) bash tests/bench/bench.sh

bench-rebuild: all tools ## what a rebuild keeps and a backup gets: fixed limits, slices, the gate; an hour (QUICK=1: 12 minutes)
	@BUILD=$(B) bash tests/bench/rebuild.sh

# The fuzz targets without libFuzzer: read each file of the corpus once.
FUZZ := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
.PHONY: fuzz-replay
fuzz-replay: $(patsubst %,$(B)/fuzz/%,$(FUZZ))
$(B)/fuzz/%: $(B)/tests/fuzz/fuzz_%.o $(B)/tests/fuzz/replay.o $(B)/librebuildgate.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

fuzz: ## the libFuzzer targets, in build/fuzz-clang (SECONDS=60 each)
	@bash tests/fuzz/fuzz.sh
