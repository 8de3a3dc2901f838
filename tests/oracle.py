"""The oracle: list all paths, add them up. It shares no code with the package and knows no tricks."""

from itertools import pairwise, product
from math import exp, inf, log


def score(start, transitions, end, emissions, path):
    """Of one path through one sentence."""
    if not path:
        return 0.0
    total = start[path[0]] + end[path[-1]]
    total += sum(emissions[t][k] for t, k in enumerate(path))
    return total + sum(transitions[i][j] for i, j in pairwise(path))


def second_order(transitions, emissions):
    """Every path of a second-order chain with its score, best first; the last index of `transitions` is the mark."""
    mark = len(transitions) - 1
    every = []
    for path in product(range(mark), repeat=len(emissions)):
        tags = [mark, mark, *path, mark] if path else []
        total = sum(transitions[u][v][w] for u, v, w in zip(tags, tags[1:], tags[2:], strict=False))
        every.append((total + sum(emissions[t][k] for t, k in enumerate(path)), path))
    return sorted(every, key=lambda found: (-found[0], found[1]))


def paths(start, transitions, end, emissions):
    """Every path with its score, best first."""
    tags = range(len(start))
    every = [(score(start, transitions, end, emissions, p), p) for p in product(tags, repeat=len(emissions))]
    return sorted(every, key=lambda found: (-found[0], found[1]))


def log_z(every):
    highest = every[0][0]
    return -inf if highest == -inf else highest + log(sum(exp(s - highest) for s, _ in every))


def node_marginals(every, tags):
    """[t][k]"""
    z, length = log_z(every), len(every[0][1])
    table = [[0.0] * tags for _ in range(length)]
    for s, path in every:
        for t, k in enumerate(path):
            table[t][k] += exp(s - z)
    return table


def edge_marginals(every, tags):
    """[t][i][j] for the step from token t to token t + 1."""
    z, length = log_z(every), len(every[0][1])
    table = [[[0.0] * tags for _ in range(tags)] for _ in range(max(0, length - 1))]
    for s, path in every:
        for t in range(length - 1):
            table[t][path[t]][path[t + 1]] += exp(s - z)
    return table
