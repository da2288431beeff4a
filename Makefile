# Two commands: make demo, make test. Both bring the system packages they need, or say which.

.PHONY: demo test models races lint demo-packages test-packages

demo: demo-packages
	cargo build --release
	./target/release/scorep-nccl demo

test: test-packages
	cargo test

# the recording under the model checker loom: every interleaving of two threads
models:
	RUSTFLAGS="--cfg loom" cargo test -p scorep-nccl-common --test models --release --target-dir target/loom

# all captures with the library under ThreadSanitizer
races:
	./scripts/races

# what continuous integration checks besides
lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

demo-packages:
	@./scripts/system-packages libotf2-trace-dev

test-packages:
	@./scripts/system-packages libotf2-trace-dev otf2-tools binutils util-linux
