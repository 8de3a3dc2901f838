"""The minimiser on functions whose minimum is known."""

from itertools import pairwise

import numpy as np
import pytest

from tagger.optimize import minimise


def bowl(x):
    """Minimum 1 at (1, -2), a thousand times steeper in one direction."""
    stretch = np.array([1.0, 1000.0])
    return float(1 + (stretch * (x - [1, -2]) ** 2).sum()), 2 * stretch * (x - [1, -2])


@pytest.mark.parametrize("scale", [[1.0, 1.0], [1.0, 1000**-0.5], [3.0, 0.1]])
def test_finds_the_minimum_whatever_the_scale(scale):
    found = minimise(bowl, np.zeros(2), np.array(scale), max_iterations=100, tolerance=0.0)
    np.testing.assert_allclose(found.x, [1, -2], atol=1e-6)
    assert found.loss == pytest.approx(1.0, abs=1e-9)


def test_the_right_scale_saves_iterations():
    plain = minimise(bowl, np.zeros(2), np.ones(2), 100, 0.0)
    scaled = minimise(bowl, np.zeros(2), np.array([1.0, 1000**-0.5]), 100, 0.0)
    assert scaled.evaluations < plain.evaluations


def test_the_watcher_sees_every_iteration_with_falling_loss():
    seen = []
    found = minimise(bowl, np.zeros(2), np.ones(2), 4, 0.0, lambda i, loss, x: seen.append((i, loss, bowl(x)[0])))
    assert [i for i, _, _ in seen] == [1, 2, 3, 4] and found.iterations == 4
    assert all(loss == pytest.approx(again, rel=1e-12) for _, loss, again in seen)
    assert all(a[1] >= b[1] for a, b in pairwise(seen))
    assert found.reason == "4 iterations were allowed"


def test_stops_when_the_loss_hardly_falls():
    """Most of the loss is a constant; what is left falls slowly, because each direction is twice as steep."""
    steep = 2.0 ** np.arange(20)

    def slow(x):
        return float(1e6 + steep @ x**2), 2 * steep * x

    found = minimise(slow, np.ones(20), np.ones(20), 500, tolerance=0.5)
    assert found.iterations == 11 and "less than 0.5 of itself" in found.reason
