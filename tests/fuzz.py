"""`make fuzz TIME=600`: the property tests on examples that nobody tried, round after round until the time is up.

Each round draws its examples by a random seed, which it prints: `make fuzz SEED=...` repeats it. A round that fails is
the last: pytest shows the example, smallest first, and the line that reproduces it.
"""

import argparse
import os
import random
import shlex
import subprocess
import sys
import time

import pytest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time", type=float, default=600, help="seconds (default 600)")
    parser.add_argument("--seed", type=int, help="one round of this seed")
    parser.add_argument("tests", nargs="*", default=["tests"], help="files or tests (default: all)")
    asked = parser.parse_args()
    until = time.time() + asked.time
    rounds = 0
    while time.time() < until and not (rounds and asked.seed is not None):
        seed = random.SystemRandom().randrange(2**32) if asked.seed is None else asked.seed
        print(f"round {rounds + 1}, seed {seed}", flush=True)
        options = ["-q", "-n", "2", "--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}", *asked.tests]
        limit = {} if asked.seed is not None else {"HOCKET_FUZZ_UNTIL": str(until)}
        code = subprocess.call([sys.executable, "-m", "pytest", *options], env=os.environ | limit)
        if code == pytest.ExitCode.TESTS_FAILED:
            again = shlex.join(["make", "fuzz", f"SEED={seed}", f"TESTS={' '.join(asked.tests)}"])
            print(f"seed {seed}: add each example above to its test as @example(...), mend it, repeat: {again}")
        if code:
            return code
        rounds += 1
    print(f"{rounds} rounds found nothing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
