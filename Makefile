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
PKGS := jansson libcurl libssh libconfig sqlite3 libmicrohttpd libsystemd libcrypto

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
	ar rcs $@ $^

$(B)/rebuildgated: $(call obj,$(GATE_SRC)) $(B)/librebuildgate.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(B)/rebuildgate: $(call obj,$(CLI_SRC)) $(B)/librebuildgate.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(B)/rebuildgate-vzdump-inner: $(call obj,$(HOOK_SRC)) $(B)/librebuildgate.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

# The outer hook links libc only: it must start where a library is missing.
$(B)/rebuildgate-vzdump: $(call obj,hooks/vzdump.c)
	$(CC) $(ALL_LDFLAGS) -o $@ $^

$(B)/unit/%: $(B)/tests/unit/%.o $(B)/librebuildgate.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(PKG_LIBS)

$(B)/tools/%: $(B)/tests/tools/%.o $(B)/librebuildgate.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

units: $(UNITS) ## the unit tests, not run

tools: $(TOOLS) ## programs that only tests use

clean: ## remove build/
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | sort | awk -F'\t' '{printf "  make %-16s %s\n", $$1, $$2}'

-include $(shell find $(B) -name '*.d' 2>/dev/null)
