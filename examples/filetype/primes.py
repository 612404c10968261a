"""Print the primes below a number."""

import sys


def primes(limit):
    """Sieve of Eratosthenes."""
    candidates = [True] * limit
    for n in range(2, limit):
        if candidates[n]:
            yield n
            for multiple in range(n * n, limit, n):
                candidates[multiple] = False


if __name__ == "__main__":
    print(*primes(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
