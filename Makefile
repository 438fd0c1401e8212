# One command each. Everything that builds makes libtorch ready first (see .cargo/libtorch.py).

BIN = target/release/sar-single

# Where programs that only the project's own chores need are installed.
TOOLS ?= target/tools

# A Python that has DGL, for `make bench` and `make soak`.
DGL_PYTHON ?= python3

# Where `make install` puts things; DESTDIR goes before it, for packagers.
PREFIX ?= /usr/local
INSTALL = $(DESTDIR)$(PREFIX)

.PHONY: build build-mpi wheel install dist release notes test campaign soak demo bench bench-python bench-papers book soak-parsers fuzz-parsers libtorch clean

build: libtorch
	cargo build --release --locked

# The program for several machines, target/mpi/release/sar-single, with the MPI that is found (PATH, MPICC, LIBCLANG_PATH).
build-mpi: libtorch
	@python3 .cargo/mpi.py
	CARGO_TARGET_DIR=$(CURDIR)/target/mpi cargo build --release --locked --features mpi

# The Python package as a wheel in target/wheels, with the program inside. The package itself does not link libtorch.
wheel: $(TOOLS)/maturin/bin/maturin
	rm -rf target/wheels
	PATH="$(abspath $(TOOLS))/maturin/bin:$$PATH" MATURIN_PEP517_ARGS="--compatibility pypi" \
		pip wheel --quiet --no-deps --no-build-isolation --wheel-dir target/wheels ./python

$(TOOLS)/maturin/bin/maturin:
	python3 -m venv $(TOOLS)/maturin
	$(TOOLS)/maturin/bin/pip install --quiet "maturin>=1.7,<2"

# The program, libtorch for it alone, manual pages and completions.
install: build
	python3 .cargo/install.py $(BIN) "$(INSTALL)"

# The same as a tarball that runs wherever it is unpacked.
dist: build
	python3 .cargo/install.py $(BIN) --tarball target/dist

# The files of a release in target/release-files: tarball and wheel, each installed and run where there is no Rust, their checksums, and notes.
release: dist wheel
	rm -rf target/release-files && mkdir -p target/release-files
	cp target/dist/sar-single-$(VERSION)-*.tar.gz target/wheels/*.whl target/release-files
	python3 .cargo/release.py target/release-files "$$($(MAKE) -s notes)"

# What this version brings, out of CHANGELOG.md: git tag -a v0.2.0 -m "$$(make -s notes)"
VERSION = $(shell sed -n '0,/^version/s/^version = "\(.*\)"/\1/p' Cargo.toml)
notes:
	@awk '/^## / { shown = $$2 == "$(VERSION)" } shown' CHANGELOG.md

# Unit tests are a second copy of the whole library. They run in seconds as they are, and optimising them would take minutes.
UNIT_TESTS = cargo test --release --locked --lib --config profile.release.package.sar-single.opt-level=0

# All is compiled in one go, which keeps all processors busy; with the examples that tests start.
test: libtorch
	cargo build --release --locked --bins --example from_ddp --example from_sar --example own_model --test '*'
	cargo test --release --locked --bins --test '*' --example custom_layer
	cargo test --release --locked --doc
	$(UNIT_TESTS)

# Seeds and models that are drawn, many times as many as `make test` draws, and a crate that depends on this one: what each change has to
# pass, too.
campaign: libtorch
	SAR_CALLS=32 cargo test --release --locked --test simulator
	SAR_SEED=0 SAR_SEEDS=240 cargo test --release --locked --test simulator
	SAR_SEEDS=120 cargo test --release --locked --test simulator
	cargo test --release --locked --test dependent_crate -- --ignored & crate=$$!; \
	SAR_SEED=2 SAR_BUDGET_CASES=8 cargo test --release --locked --test headline memory_stays_within_the_budget \
		|| { kill $$crate; exit 1; }; \
	wait $$crate

# How many seeds of the simulator `make soak` plays; docs/src/testing.md describes them.
SEEDS ?= 20000

# Hours of tests, for before a release.
soak: soak-parsers wheel
	SAR_CALLS=1 cargo test --release --locked --test simulator
	SAR_SEEDS=$(SEEDS) cargo test --release --locked --test simulator
	SAR_SOAK_EPOCHS=10000 cargo test --release --locked --test soak -- --nocapture
	SAR_BUDGET_CASES=290 cargo test --release --locked --test headline -- --nocapture
	SAR_TABLE_CASES=5000 cargo test --release --locked --test partition -- files_of_other_libraries --nocapture
	cargo test --release --locked --no-default-features --lib --test collectives --test dgl --test generate --test inspect
	python/check.sh target/python-with-dgl $(DGL_PYTHON) torch_geometric==2.5.3
	.ci/torch-without-cuda target/torch
	python/check.sh target/python-with-torch target/torch/bin/python torch_geometric==2.8.1

# Generates a small community graph and trains on it.
demo: build
	rm -rf target/demo
	$(BIN) generate --nodes 4000 --edges 60000 --features 32 --classes 8 --num-parts 4 --out target/demo/graph
	$(BIN) --part-json target/demo/graph/g.json --world-size 4 --epochs 25 --hidden 64 --out target/demo/run

# Kernels alone and beside DGL's, then whole epochs beside DGL in memory.
bench: build
	cargo bench --locked --bench kernels
	$(DGL_PYTHON) benches/kernels_against_dgl.py
	python3 benches/against_dgl.py --python $(DGL_PYTHON)

# Models in PyTorch on the Python package, and DGL in memory, in turns. Needs the package in DGL_PYTHON.
bench-python: build
	$(DGL_PYTHON) python/benchmarks/against_dgl.py

# A fraction of papers100M, from raw files to predictions, in FOLDER, which needs about 400 GiB divided by FRACTION. Needs numpy.
FRACTION = 8
bench-papers: build
	python3 benches/papers.py --folder $(FOLDER) --fraction $(FRACTION)

# The book as a website in target/book.
book: $(TOOLS)/bin/mdbook
	$(TOOLS)/bin/mdbook build docs --dest-dir $(CURDIR)/target/book

# Optimised little: it is compiled more often than it is run.
$(TOOLS)/bin/mdbook:
	CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
		cargo install --quiet --locked --root $(TOOLS) --no-default-features --features search mdbook@0.5.4

# Mutated files for every parser (docs/src/testing.md), with checked arithmetic; the second lets coverage choose what to mutate.
INPUTS ?= 1000000
PARSERS = --release --locked --config profile.release.package.sar-single.overflow-checks=true --test parsers -- \
	--nocapture --test-threads=1

soak-parsers: libtorch
	SAR_PARSER_INPUTS=$(INPUTS) cargo test $(PARSERS)

fuzz-parsers: libtorch
	RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/.cargo/guided.sh LLVM_PROFILE_FILE=/dev/null SAR_PARSER_INPUTS=$(INPUTS) \
	cargo test $(PARSERS)

libtorch:
	@python3 .cargo/libtorch.py

clean:
	cargo clean
