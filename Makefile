# Two commands: make demo, make test. Both bring the system packages they need, or say which.

.PHONY: library static tool wheel plain-wheel demo test test-wheel bench instructions-baseline models races sanitize pipeline lint demo-packages test-packages

target = $(or $(CARGO_TARGET_DIR),target)
# What is shipped lies in a directory of its own, where nothing else overwrites it.
shipped = $(target)/shipped
wheel = $(abspath $(target))/wheel

# The profile of tests and lints; cargo's own where the environment names none. `tool` takes what the tool was built of.
profile = $(SCOREP_NCCL_TEST_PROFILE:%=--profile %)

# As a cdylib alone: a plain `cargo build --release` makes an rlib of it, too, and then leaves link-time optimization out without a word.
library: | $(shipped)/release
	cargo rustc --release --package scorep-nccl-substrate --lib --crate-type cdylib --target-dir $(shipped)
	@for name in libnccl_plugin libnccl_series_plugin libnccl-profiler-scorep; do \
	  ln -sf libscorep_substrate_nccl.so $(shipped)/release/$$name.so; done

# Two cargos at once, which make these directories in each other's way, would fail.
$(shipped)/release:
	mkdir -p $@

# The library as an archive, for programs that are linked with it: docs/install.md. Apart from the cdylib, so that each
# has link-time optimization.
static:
	cargo rustc --release --package scorep-nccl-substrate --lib --crate-type staticlib --target-dir $(shipped)

# The command-line tool, beside the library, but built apart from it: it is made with the library's crates, too, as
# rlibs. In the same directory each would replace what the other built, and cargo would begin anew every time.
tool: | $(shipped)/release
	cargo build --profile tool --bin scorep-nccl
	cp -p $(target)/tool/scorep-nccl $(target)/tool/scorep-nccl.d $(shipped)/release/

# The library, the tool and a Python module, for pip: target/wheel/*.whl. WHEEL_TARGET=aarch64-unknown-linux-gnu makes it for other machines, if
# rustup has that target.
wheel:
	@./scripts/wheel-tools
	rm -f $(wheel)/*.whl $(wheel)/new/*.whl
	cd packaging/python && SCOREP_NCCL_WHEEL_TARGET=$(WHEEL_TARGET) $(wheel)/tools/bin/python -m hatchling build --target wheel --directory $(wheel)/new
	mv $(wheel)/new/*.whl $(wheel)

demo: demo-packages library tool
	$(shipped)/release/scorep-nccl demo

# Both runs, then the tests that were skipped.
test: export SCOREP_NCCL_SKIPPED = $(abspath $(target))/skipped
test: test-packages library tool
	@rm -f $(SCOREP_NCCL_SKIPPED)
	status=0; cargo test $(profile) --no-fail-fast || status=1; \
	  cargo test $(profile) --features otel-grpc --test otel || status=1; \
	  ./scripts/skipped-tests $(SCOREP_NCCL_SKIPPED); exit $$status

# The wheel without optimization, which builds in a quarter of the time.
plain-wheel: export CARGO_PROFILE_RELEASE_LTO = off
plain-wheel: export CARGO_PROFILE_RELEASE_CODEGEN_UNITS = 16
plain-wheel: export CARGO_PROFILE_RELEASE_OPT_LEVEL = 0
plain-wheel: wheel

# A wheel and its tests.
test-wheel: plain-wheel
	cargo test $(profile) --test wheel

# how long the parts take
bench:
	cargo bench --package scorep-nccl-common --bench parts -- $(BENCH)

# keeps what the callbacks take now as what they may take
instructions-baseline: library
	SCOREP_NCCL_TAKE_BASELINE=1 cargo test --test instructions

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

# What continuous integration checks besides. Without the features three crates differ. `otel` alone is part of
# otel-grpc; tests/install builds it.
lint:
	cargo fmt --all --check
	cargo clippy $(profile) -p scorep-nccl-common -p scorep-nccl-profiler -p scorep-nccl-substrate --lib -- -D warnings
	cargo clippy $(profile) --workspace --all-targets --features otel-grpc -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc $(profile) --workspace --no-deps --features otel-grpc

demo-packages:
	@./scripts/system-packages libotf2-trace-dev

test-packages:
	@./scripts/system-packages libotf2-trace-dev otf2-tools binutils util-linux valgrind slurmctld slurmd slurm-client munge libjemalloc2 libtcmalloc-minimal4 shellcheck cmake dpkg-dev lmod \
	  prometheus prometheus-node-exporter python3-venv tcsh fish chromium-headless-shell
	@./scripts/test-collector
	@./scripts/test-tables
	@./scripts/test-dashboards
