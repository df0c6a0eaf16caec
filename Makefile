# A thin front: the work is in scripts/ and in CMakeLists.txt.

PREFIX ?= /usr/local
ARGS ?=
ONLY ?=
CALLS ?= 200000
SEED ?=

.PHONY: help run build test test-clients soak install format bench clean

help:
	@echo 'make run [ARGS="…"]      build what is missing, then run the server (a terminal gets a REPL)'
	@echo 'make build               only build: build/cl-mcp-server and its worker image'
	@echo 'make test [ONLY="…"]     all the tests, or only the named stages (scripts/test --list)'
	@echo 'make test-clients        the tests with Claude Code, a download of 350 MB'
	@echo 'make soak [CALLS=…]      random calls, $(CALLS) of them, checked against a model; SEED=… repeats a run'
	@echo 'make install [PREFIX=…]  install below PREFIX ($(PREFIX)); DESTDIR is honoured'
	@echo 'make format              format the C++ sources'
	@echo 'make bench               measure'
	@echo 'make clean               remove build/'

# One recipe and no prerequisite: standard input goes to the server whole, and building prints nothing on
# the server's standard output.
run:
	@scripts/build </dev/null >&2 && exec build/cl-mcp-server $(ARGS)

build:
	@scripts/build </dev/null >&2

test:
	@scripts/test $(ONLY)

test-clients:
	@scripts/test claude-code

soak:
	@scripts/build </dev/null >&2
	@python3 tests/soak/run.py --calls $(CALLS) $(if $(SEED),--seed $(SEED))

install:
	@scripts/build </dev/null >&2
	@cmake --install build --prefix "$(PREFIX)"

format:
	@scripts/setup build test </dev/null >&2
	@tests/lint/format --fix

bench:
	@scripts/build </dev/null >&2
	@if [ -x tests/bench/run ]; then tests/bench/run; else echo 'There are no benchmarks yet.'; fi

clean:
	rm -rf build
