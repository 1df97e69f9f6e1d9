"""What a mode costs: ``python tests/posterior/mode_cost.py N d``.

Seconds are the processor's, compiling included: the wall's depend on who else is at work.
"""

import sys
import threading
import time

import numpy as np

from virial.posterior import logistic_regression


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


class Peak:
    """The most memory taken while it is open, beyond what was taken before."""

    def __enter__(self):
        self.before, self.bytes, self.open = resident(), 0, True
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self):
        while self.open:
            self.bytes = max(self.bytes, resident() - self.before)
            time.sleep(0.001)

    def __exit__(self, *_):
        self.open = False
        self.thread.join()


def measure(N: int, d: int) -> tuple[float, int, float, float, float]:
    """CPU seconds, passes, decrement, MB of rows, and MB the search took beside them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, d), dtype=np.float32)
    theta = rng.normal(size=d).astype(np.float32) / np.sqrt(d)
    posterior = logistic_regression(X, rng.random(N) < 1 / (1 + np.exp(-X @ theta)))
    del X
    start = time.process_time()
    with Peak() as peak:
        mode = posterior.mode()
    seconds = time.process_time() - start
    return seconds, mode.passes, mode.decrement, 4e-6 * N * d, 1e-6 * peak.bytes


if __name__ == "__main__":
    print(*measure(int(sys.argv[1]), int(sys.argv[2])))
