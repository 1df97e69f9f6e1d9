PYTHON ?= python3.11
BIN := .venv/bin

.PHONY: demo test bench clean

# One environment for everything; remade when what it holds changes.
.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,demo]'
	touch $@

demo: .venv/ready
	$(BIN)/virial demo

test: .venv/ready
	bash .ci/run

.venv/bench: .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	touch $@

bench: .venv/bench
	$(BIN)/python -m benchmarks.engine

clean:
	rm -rf .venv build dist
