PYTHON ?= python3.11
BIN := .venv/bin
# In the environment and not as -c, so that the build's own requirements are pinned too.
PIP := PIP_CONSTRAINT=constraints.txt $(BIN)/pip install --quiet --disable-pip-version-check

.PHONY: demo test bench clean

# One environment for everything; remade when what it holds changes.
.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) -e '.[dev,demo]'
	touch $@

demo: .venv/ready
	$(BIN)/virial demo

test: .venv/ready
	bash .ci/run

.venv/bench: .venv/ready
	$(PIP) torch==2.13.0
	$(PIP) -e '.[bench]'
	# They ask for packages that are no more; whether they import is itself a line of the table.
	$(PIP) --no-deps sgmcmcjax jax-sgmc
	touch $@

bench: .venv/bench
	$(BIN)/virial bench --write

clean:
	rm -rf .venv build dist
