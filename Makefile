# make demo   sets everything up and does the whole chain once       make demo TORCH=no   without installing PyTorch
# make test   sets everything up and runs every suite                make lint            style and types only
# make test-torch VERSIONS="2.4.1 2.8.0 nightly": the collector with versions of PyTorch, some minutes and 2 GB each
# make wheel  for glibc 2.28 and later, and the source distribution, into dist/; ARCH=aarch64 for another architecture
# make fuzz   TIME=600: the property tests on random examples        make fuzz SEED=7     the examples of one seed again
PYTHON ?= python3
VENV ?= .venv
TORCH ?= yes
DEMO_DIR ?= demo
TIME ?= 600

BIN := $(VENV)/bin
# Says what it downloads, and on a terminal how far it is.
PIP_INSTALL := $(BIN)/pip install --progress-bar on
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo docs test test-torch fuzz lint wheel build system pytest cpptest clean

demo: build $(if $(filter no,$(TORCH)),$(VENV)/demo.stamp,$(VENV)/torch.stamp)
	$(BIN)/hocket demo --out $(DEMO_DIR)
	@echo "(the hocket command is $(BIN)/hocket; '. $(BIN)/activate' puts it on the PATH)"

test: system lint pytest cpptest
	@echo "every suite passed"

lint: build $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	git ls-files '*.cpp' '*.hpp' | xargs $(BIN)/clang-format --dry-run -Werror
	$(BIN)/python tests/cpp_names.py

# The documentation: the tables of what there is, from the code, and the site of all pages, without network: build/site.
docs: build $(VENV)/docs.stamp
	$(BIN)/python -m hocket.docs
	$(BIN)/python -m sphinx -q -W --keep-going docs build/site
	@echo "open build/site/index.html"

# Of the suites that start jobs of several ranks a file's tests stay together: they share the jobs. Where an extra is
# absent its tests skip; here all are installed, so that none skips unseen.
pytest: build $(VENV)/torch.stamp $(VENV)/test.stamp $(VENV)/newest-nccl
	PYTHONHASHSEED=0 HOCKET_REQUIRE_EXTRAS=1 $(BIN)/python -m pytest -q -n 2 -m "not torch and not mpi"
	PYTHONHASHSEED=0 HOCKET_REQUIRE_EXTRAS=1 $(BIN)/python -m pytest -q -n 2 --dist loadfile -m "torch or mpi"

# In environments of their own, removed as it goes; a table says what works. TORCH_INDEX=URL names another index.
VERSIONS ?= 2.4.1 2.5.1 2.6.0 2.7.1 2.8.0 2.9.1 2.10.0 2.11.0 2.12.1 2.13.0 2.14.1 2.15.0 nightly
test-torch: build
	$(BIN)/python -m hocket.bench.torch_versions $(if $(TORCH_INDEX),--index $(TORCH_INDEX)) $(VERSIONS)

# Not part of `make test`, whose examples are fixed: what it finds becomes an @example there.
fuzz: build $(VENV)/torch.stamp $(VENV)/test.stamp
	$(BIN)/python tests/fuzz.py --time $(TIME) $(addprefix --seed ,$(SEED)) $(TESTS)

# In an environment of its own: the compiler with its C libraries is 100 MB.
wheel:
	$(PYTHON) -m venv $(VENV)-wheel
	$(VENV)-wheel/bin/pip install -q "setuptools>=80" "nanobind>=3.1,<4" "ziglang>=0.15" "auditwheel>=6.4"
	$(VENV)-wheel/bin/python packaging/build_wheel.py --out dist $(addprefix --arch ,$(ARCH))

# The engine's own tests, under AddressSanitizer and UndefinedBehaviorSanitizer.
cpptest: system
	cmake -S . -B build/sanitize -DHOCKET_SANITIZE=ON && cmake --build build/sanitize -j 2
	ctest --test-dir build/sanitize --output-on-failure

# Compiles only what changed: the native engine and the NCCL library, in place.
build: $(VENV)/base.stamp
	$(BIN)/python setup.py -q build_ext --inplace

$(VENV)/base.stamp: pyproject.toml setup.py
	@command -v g++ >/dev/null || { echo "error: g++ (C++20) is needed: apt-get install g++" >&2; exit 3; }
	$(PYTHON) -m venv $(VENV) || { echo "error: apt-get install python3-venv python3-dev" >&2; exit 3; }
	$(BIN)/pip install -q --upgrade pip
	$(PIP_INSTALL) "setuptools>=80" "nanobind>=3.1,<4"
	@echo "Compiling the engine and the plugins: 2 to 4 minutes on two cores."
	$(PIP_INSTALL) --no-build-isolation -e .
	touch $@

$(VENV)/demo.stamp: $(VENV)/base.stamp
	$(PIP_INSTALL) --no-build-isolation -e ".[mpi]"
	touch $@

$(VENV)/torch.stamp: $(VENV)/demo.stamp
	@$(BIN)/python -c "import torch" 2>/dev/null || echo "Installing PyTorch: about 3 GB to download, 5 GB on disk" \
	    "(make demo TORCH=no uses recorded traces instead; TORCH_INDEX=URL names another package index)."
	$(PIP_INSTALL) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) "torch>=2.4"
	touch $@

$(VENV)/test.stamp: $(VENV)/demo.stamp
	$(PIP_INSTALL) --no-build-isolation -e ".[parquet,solve,mpi,test,docs,lint,stock]"
	touch $@

$(VENV)/docs.stamp: $(VENV)/base.stamp
	$(PIP_INSTALL) --no-build-isolation -e ".[docs]"
	touch $@

# The newest NCCL known, which the plugins are loaded beside; away from the packages, among which PyTorch has its own.
$(VENV)/newest-nccl: | $(VENV)/base.stamp
	$(PIP_INSTALL) --no-deps --target $@.part nvidia-nccl-cu12==2.32.3
	mv $@.part $@

system:
	@sh .ci/system-packages

clean:
	rm -rf build demo dist src/*.egg-info
	find src plugin -name '*.so' -delete
