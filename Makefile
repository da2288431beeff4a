# make demo, make test, make test-all, make library tool: each brings the system packages it needs, or says which.

.PHONY: library static tool build wheel plain-wheel demo test test-programs test-all bench instructions-baseline models races sanitize pipeline lint demo-packages test-packages

target = $(or $(CARGO_TARGET_DIR),target)
# What is shipped lies in a directory of its own, where nothing else overwrites it; cargo builds the library in another.
shipped = $(target)/shipped/release
library = $(target)/library
wheel = $(abspath $(target))/wheel
wheels = $(wheel)
# What a developer runs, tool and tests, is one build: optimized, with all checks, without link-time optimization.
built = checked
profile = --profile $(built)

# As a cdylib alone: a plain `cargo build --release` makes an rlib of it, too, and then leaves link-time optimization
# out without a word.
library: | $(library)
	MAKEFLAGS= cargo rustc --release --package scorep-nccl-substrate --lib --crate-type cdylib --target-dir $(library)
	./scripts/strip $(library)/release/libscorep_substrate_nccl.so $(shipped)/libscorep_substrate_nccl.so
	@for name in libnccl_plugin libnccl_series_plugin libnccl-profiler-scorep; do \
	  ln -sf libscorep_substrate_nccl.so $(shipped)/$$name.so; done

# Two cargos at once, which make these directories in each other's way, would fail.
$(library):
	mkdir -p $@

# The library as an archive, for programs that are linked with it: docs/install.md. Apart from the cdylib, so that each
# has link-time optimization.
static:
	cargo rustc --release --package scorep-nccl-substrate --lib --crate-type staticlib --target-dir $(library)
	install -D -m 644 $(library)/release/libscorep_substrate_nccl.a -t $(shipped)

# The command-line tool, beside the library, but built apart from it: it is made with the library's crates, too, as
# rlibs. In the same directory each would replace what the other built, and cargo would begin anew every time.
tool: | $(library)
	MAKEFLAGS= cargo build --profile tool --bin scorep-nccl
	./scripts/strip $(target)/tool/scorep-nccl $(shipped)/scorep-nccl

# The tool and the library as the tests run them.
build:
	cargo build $(profile) --package scorep-nccl --package scorep-nccl-substrate

# The library, the tool and a Python module, for pip: target/wheel/*.whl. WHEEL_TARGET=aarch64-unknown-linux-gnu makes it for other machines, if
# rustup has that target.
wheel:
	@./scripts/wheel-tools
	rm -f $(wheels)/*.whl $(wheels)/new/*.whl
	cd packaging/python && SCOREP_NCCL_WHEEL_TARGET=$(WHEEL_TARGET) $(wheel)/tools/bin/python -m hatchling build --target wheel --directory $(wheels)/new
	mv $(wheels)/new/*.whl $(wheels)

# Nothing of it is optimized, so that it is there soon; `make demo built=checked` takes the tests' build.
demo: built = demo
demo: demo-packages build
	$(target)/$(built)/scorep-nccl demo

# Before each commit that matters.
test: test-packages
	$(MAKE) --jobs=2 library test-programs
	./scripts/run-tests

# Beside the library, whose link-time optimization leaves a processor free. Without make's flags, cargo counts its own
# jobs.
test-programs:
	MAKEFLAGS= cargo test $(profile) --no-run

# Before an issue is resolved, and before a release: everything, for an hour or more (docs/development.md).
test-all: export SCOREP_NCCL_TEST_ALL = 1
test-all: export SCOREP_NCCL_DRAWN = 30
test-all: export SCOREP_NCCL_EXTREMES = all
test-all: test-packages
	$(MAKE) --jobs=2 library tool plain-wheel test-programs
	./scripts/run-tests all
	$(MAKE) models races sanitize pipeline

# The wheel without optimization, which builds in a quarter of the time, for the tests: target/wheel/plain/*.whl.
plain-wheel: wheels = $(wheel)/plain
plain-wheel: export CARGO_PROFILE_RELEASE_LTO = off
plain-wheel: export CARGO_PROFILE_RELEASE_CODEGEN_UNITS = 16
plain-wheel: export CARGO_PROFILE_RELEASE_OPT_LEVEL = 0
plain-wheel: wheel

# how long the parts take; with PLUGIN="FILE...", what a callback of these profiler plugins and of the library costs, as
# a host in C makes it
bench: $(if $(PLUGIN),library)
ifdef PLUGIN
	cargo bench $(profile) --bench plugins -- $(abspath $(shipped)/libscorep_substrate_nccl.so $(PLUGIN))
else
	cargo bench --package scorep-nccl-common --bench parts -- $(BENCH)
endif

# keeps what the callbacks take now as what they may take
instructions-baseline: library
	SCOREP_NCCL_TAKE_BASELINE=1 cargo test $(profile) --test safety instructions::

# the recording under the model checker loom: every interleaving of two threads
models:
	RUSTFLAGS="--cfg loom" cargo test -p scorep-nccl-common --test models --release --target-dir target/loom

# all captures with the library under ThreadSanitizer
races:
	./scripts/races

# NCCL's side of the conformance suite with the library under the address sanitizer and valgrind
sanitize:
	./scripts/sanitize

# examples/pipeline, a package of its own: its lints and its tests, on processors
pipeline:
	cargo fmt --manifest-path examples/pipeline/Cargo.toml --check
	cargo clippy --manifest-path examples/pipeline/Cargo.toml --target-dir target --all-targets -- -D warnings
	cargo test --manifest-path examples/pipeline/Cargo.toml --target-dir target

# In the profile of the tests, whose build scripts and macros it shares.
lint: demo-packages
	cargo fmt --all --check
	cargo clippy $(profile) --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc $(profile) --workspace --no-deps

demo-packages:
	@./scripts/system-packages libotf2-trace-dev

test-packages:
	@./scripts/system-packages libotf2-trace-dev otf2-tools binutils util-linux valgrind slurmctld slurmd slurm-client munge libjemalloc2 libtcmalloc-minimal4 shellcheck cmake dpkg-dev lmod \
	  prometheus prometheus-node-exporter python3-venv tcsh fish chromium-headless-shell
	@./scripts/test-collector
	@./scripts/test-tables
	@./scripts/test-dashboards
