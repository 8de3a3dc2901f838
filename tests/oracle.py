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


def candidate_paths(order, transitions, candidates):
    """Every path over the candidates with its score, best first, of a chain of first or second order.

    `candidates` has a dictionary from tag to score for each token; the last index of `transitions` is the mark.
    """
    mark, every = len(transitions) - 1, []
    for path in product(*candidates):
        total = sum(scores[k] for scores, k in zip(candidates, path, strict=True))
        every.append((total + sum(weight(transitions, ngram) for _, ngram in ngrams(order, path, mark)), path))
    return sorted(every, key=lambda found: (-found[0], found[1]))


def ngrams(order, path, mark):
    """(t, tags) for each token t and the end: its tag after `order` others, marks before and after the sentence."""
    marked = [mark] * order + [*path, mark] if path else []
    return [(t, tuple(marked[t : t + order + 1])) for t in range(len(marked) - order)]


def weight(transitions, tags):
    for k in tags:
        transitions = transitions[k]
    return transitions


def ngram_marginals(every, order, mark):
    """{(t, tags): probability}, 0 for those that are missing."""
    z, table = log_z(every), {}
    for s, path in every:
        for place in ngrams(order, path, mark):
            table[place] = table.get(place, 0.0) + exp(s - z)
    return table


def long_chain(order, transitions, candidates):
    """The best score and log Z of a chain that is too long to list all paths, from the last `order` tags."""
    mark = len(transitions) - 1
    reached = {(mark,) * order: (0.0, 0.0)}
    for scores in [*candidates, {mark: 0.0}]:
        here = {}
        for before, (best, z) in reached.items():
            for k, emission in scores.items():
                step = emission + weight(transitions, (*before, k))
                here.setdefault((*before, k)[1:], []).append((best + step, z + step))
        reached = {tags: (max(b for b, _ in ways), add_logs([z for _, z in ways])) for tags, ways in here.items()}
    best, z = zip(*reached.values(), strict=True)
    return max(best), add_logs(z)


def paths(start, transitions, end, emissions):
    """Every path with its score, best first."""
    tags = range(len(start))
    every = [(score(start, transitions, end, emissions, p), p) for p in product(tags, repeat=len(emissions))]
    return sorted(every, key=lambda found: (-found[0], found[1]))


def log_z(every):
    return add_logs([s for s, _ in every])


def add_logs(scores):
    highest = max(scores)
    return -inf if highest == -inf else highest + log(sum(exp(s - highest) for s in scores))


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


def step_paths(start, steps, end, emissions):
    """Every path with its score, best first, where `steps[t]` are the transitions from token t to token t + 1."""
    if not emissions:
        return [(0.0, ())]
    last = len(emissions) - 1
    every = [(s + end[path[-1]], path) for s, path in prefixes(start, steps, emissions, last)]
    return sorted(every, key=lambda found: (-found[0], found[1]))


def prefixes(start, steps, emissions, t):
    """Every way to token t with its score, but for the score of an end."""
    every = []
    for path in product(range(len(start)), repeat=t + 1):
        total = start[path[0]] + sum(emissions[s][k] for s, k in enumerate(path))
        every.append((total + sum(steps[s][i][j] for s, (i, j) in enumerate(pairwise(path))), path))
    return every


def suffixes(steps, end, emissions, t):
    """Every way on from token t with its score, but for the emission of t."""
    every = []
    for path in product(range(len(end)), repeat=len(emissions) - t):
        total = end[path[-1]] + sum(emissions[t + s][k] for s, k in enumerate(path) if s)
        every.append((total + sum(steps[t + s][i][j] for s, (i, j) in enumerate(pairwise(path))), path))
    return every


def ways_to(order, transitions, candidates, t):
    """Every way over the candidates to token t with its score, of a chain of first or second order."""
    mark, every = len(transitions) - 1, []
    for path in product(*candidates[: t + 1]):
        total = sum(scores[k] for scores, k in zip(candidates, path, strict=False))
        marked = [mark] * order + [*path]
        grams = [tuple(marked[i : i + order + 1]) for i in range(len(path))]
        every.append((total + sum(weight(transitions, gram) for gram in grams), path))
    return every


def ways_on(order, transitions, candidates, t, tags):
    """Scores of every way on from token t, whose last `order` tags are these, to the end."""
    mark, every = len(transitions) - 1, []
    for path in product(*candidates[t + 1 :]):
        total = sum(scores[k] for scores, k in zip(candidates[t + 1 :], path, strict=True))
        marked = [*tags, *path, mark]
        grams = [tuple(marked[i : i + order + 1]) for i in range(len(path) + 1)]
        every.append(total + sum(weight(transitions, gram) for gram in grams))
    return every
