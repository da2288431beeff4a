# Two commands: make demo, make test. Both bring the system packages they need, or say which.

.PHONY: library tool demo test bench instructions-baseline models races sanitize lint demo-packages test-packages

# What is shipped is built in a directory of its own, where nothing else overwrites it.
shipped = $(or $(CARGO_TARGET_DIR),target)/shipped

# As a cdylib alone: a plain `cargo build --release` makes an rlib of it, too, and then leaves link-time optimization out without a word.
library:
	cargo rustc --release --package scorep-nccl-substrate --lib --crate-type cdylib --target-dir $(shipped)
	@for name in libnccl_plugin libnccl_series_plugin libnccl-profiler-scorep; do \
	  ln -sf libscorep_substrate_nccl.so $(shipped)/release/$$name.so; done

# The command-line tool, beside the library, but built apart from it: it is made with the library's crates, too, as rlibs. In the same directory
# each would replace what the other built, and cargo would begin anew every time.
tool:
	cargo build --release --bin scorep-nccl --target-dir $(shipped)/tool
	mkdir -p $(shipped)/release
	cp -p $(shipped)/tool/release/scorep-nccl $(shipped)/tool/release/scorep-nccl.d $(shipped)/release/

demo: demo-packages library tool
	$(shipped)/release/scorep-nccl demo

test: test-packages library tool
	cargo test
	cargo test --features otel-grpc --test otel

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

# what continuous integration checks besides
lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy --workspace --all-targets --features otel -- -D warnings
	cargo clippy --workspace --all-targets --features otel-grpc -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --features otel-grpc

demo-packages:
	@./scripts/system-packages libotf2-trace-dev

test-packages:
	@./scripts/system-packages libotf2-trace-dev otf2-tools binutils util-linux valgrind slurmctld slurmd slurm-client munge libjemalloc2 libtcmalloc-minimal4 shellcheck cmake dpkg-dev lmod \
	  prometheus prometheus-node-exporter python3-venv tcsh fish
	@./scripts/test-collector
	@./scripts/test-tables
