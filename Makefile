# SPDX-License-Identifier: Apache-2.0
# Front end of Meson: every target works in a fresh clone on a fresh machine.
#   make demo     install missing packages, build, train a small transformer on two software NPUs, find a planted leak
#   make test     unit, end-to-end, fault and compatibility tests, then the sanitizer builds
#   make test-frameworks    PyTorch and other programs from PyPI, unmodified, on software NPUs (downloads several GB once)
#   make bench    measure; writes docs/performance.md
BUILD ?= build
PREFIX ?= /usr/local

.PHONY: all build debug asan tsan demo test test-frameworks check bench soak lint format install clean

all: build

build:
	@scripts/bootstrap build
	@scripts/build $(BUILD) release

debug asan tsan:
	@scripts/bootstrap build
	@scripts/build $(BUILD)-$@ $@

demo: build
	@scripts/demo $(BUILD)

test:
	@scripts/bootstrap build test fuzz
	@scripts/test $(BUILD)

test-frameworks:
	@scripts/bootstrap build test frameworks
	@scripts/build $(BUILD) release
	@scripts/test-frameworks $(BUILD)

# Unit tests of the release build only: takes seconds, for use while editing.
check: build
	@meson test -C $(BUILD) --no-rebuild --print-errorlogs

bench:
	@scripts/bootstrap build bench frameworks
	@scripts/build $(BUILD) release
	@scripts/bench $(BUILD)

soak:
	@scripts/bootstrap build test fuzz soak
	@scripts/soak $(BUILD)

lint:
	@scripts/bootstrap build lint
	@scripts/build $(BUILD) release
	@scripts/lint $(BUILD)

format:
	@scripts/bootstrap lint
	@git ls-files '*.c' '*.h' | xargs clang-format -i

install: build
	@meson configure $(BUILD) --prefix $(abspath $(PREFIX))
	@meson install -C $(BUILD)

clean:
	rm -rf $(BUILD) $(BUILD)-debug $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz
