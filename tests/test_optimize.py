"""The minimiser on functions whose minimum is known."""

from itertools import pairwise

import numpy as np
import pytest

from tagger.crf.lbfgs import minimize


def bowl(x):
    """Minimum 1 at (1, -2), a thousand times steeper in one direction."""
    stretch = np.array([1.0, 1000.0])
    return float(1 + (stretch * (x - [1, -2]) ** 2).sum()), 2 * stretch * (x - [1, -2])


@pytest.mark.parametrize("scale", [[1.0, 1.0], [1.0, 1000**-0.5], [3.0, 0.1]])
def test_finds_the_minimum_whatever_the_scale(scale):
    found = minimize(bowl, np.zeros(2), np.array(scale), max_iterations=100, tolerance=0.0)
    np.testing.assert_allclose(found.x, [1, -2], atol=1e-6)
    assert found.loss == pytest.approx(1.0, abs=1e-9)


def test_the_right_scale_saves_iterations():
    plain = minimize(bowl, np.zeros(2), np.ones(2), 100, 0.0)
    scaled = minimize(bowl, np.zeros(2), np.array([1.0, 1000**-0.5]), 100, 0.0)
    assert scaled.evaluations < plain.evaluations


def test_the_watcher_sees_every_iteration_with_falling_loss():
    seen = []
    watch = lambda i, loss, x: seen.append((i, loss, bowl(x)[0]))  # noqa: E731
    found = minimize(bowl, np.zeros(2), np.ones(2), 4, watch=watch)
    assert [i for i, _, _ in seen] == [1, 2, 3, 4] and found.iterations == 4
    assert all(loss == pytest.approx(again, rel=1e-12) for _, loss, again in seen)
    assert all(a[1] >= b[1] for a, b in pairwise(seen))
    assert "max_iterations" in found.reason and "4" in found.reason


def test_stops_when_the_loss_hardly_falls():
    """Most of the loss is a constant; what is left falls slowly, because each direction is twice as steep."""
    steep = 2.0 ** np.arange(20)

    def slow(x):
        return float(1e6 + steep @ x**2), 2 * steep * x

    found = minimize(slow, np.ones(20), np.ones(20), 500, tolerance=0.5)
    assert found.iterations == 11 and "less than 0.5 of itself" in found.reason


def test_the_watcher_may_end_it():
    found = minimize(bowl, np.zeros(2), np.ones(2), 50, watch=lambda i, loss, x: "enough" if i == 3 else None)
    assert (found.iterations, found.reason) == (3, "enough")


def lasso(n=30, seed=0):
    """½‖Mx - b‖², whose minimum with an L1 penalty is checked by its optimality conditions."""
    random = np.random.default_rng(seed)
    M, b = random.normal(size=(40, n)), random.normal(size=40)
    return lambda x: (float(0.5 * (M @ x - b) @ (M @ x - b)), M.T @ (M @ x - b))


@pytest.mark.parametrize("l1", [0.5, 3.0, 10.0])
@pytest.mark.parametrize("stretch", [1.0, 7.0])
def test_l1_ends_where_the_optimality_conditions_hold(l1, stretch):
    function = lasso()
    scale = np.linspace(1, stretch, 30)
    found = minimize(function, np.zeros(30), scale, 2000, l1=l1)
    _, gradient = function(found.x)
    zero = found.x == 0
    assert zero.any() and (np.abs(gradient[zero]) <= l1 + 1e-4).all()
    np.testing.assert_allclose(gradient[~zero], -l1 * np.sign(found.x[~zero]), atol=1e-4)
    assert found.loss == pytest.approx(function(found.x)[0] + l1 * np.abs(found.x).sum(), rel=1e-12)


def alike(n=40, seed=1):
    """½‖Mx - b‖² with columns that are nearly alike: the way down goes against the gradient of many variables."""
    random = np.random.default_rng(seed)
    common = random.normal(size=(60, 3)) @ random.normal(size=(3, n))
    M = common + 0.1 * random.normal(size=(60, n))
    b = M @ random.normal(size=n)
    return lambda x: (float(0.5 * (M @ x - b) @ (M @ x - b)), M.T @ (M @ x - b))


def test_variables_that_go_together_take_few_evaluations_with_l1():
    """OWL-QN, which drops what goes against the gradient, takes 14,980 evaluations, this 470."""
    function, losses = alike(), []
    best = minimize(function, np.zeros(40), np.ones(40), 5000, l1=0.05).loss
    stop = lambda i, loss, x: losses.append(loss) or ("there" if loss < best + 1e-3 * abs(best) else None)  # noqa: E731
    found = minimize(function, np.zeros(40), np.ones(40), 5000, l1=0.05, watch=stop)
    assert found.reason == "there" and found.evaluations < 2000
    assert all(a >= b for a, b in pairwise(losses))


def test_a_large_l1_leaves_nothing():
    found = minimize(lasso(), np.zeros(30), np.ones(30), 100, l1=1e6)
    assert not found.x.any() and found.reason == "the gradient is zero"


def test_a_gradient_too_small_for_float32_is_the_end():
    function = lambda x: (float(x[0]), np.where(x > 1, 1.0, 1e-60))  # noqa: E731
    found = minimize(function, np.full(1, 2.0), np.ones(1), 50)
    assert found.reason == "the gradient is zero" and found.iterations == 1


def test_l1_from_a_distant_start_comes_to_the_same_end():
    function = lasso()
    near = minimize(function, np.zeros(30), np.ones(30), 2000, l1=3.0)
    far = minimize(function, np.full(30, 5.0), np.ones(30), 2000, l1=3.0)
    np.testing.assert_allclose(near.x, far.x, atol=1e-4)


def test_a_function_that_lies_is_given_up():
    """The gradient points uphill: no step brings what it promises."""
    found = minimize(lambda x: (float(x @ x), -2 * x), np.ones(3), np.ones(3), 50)
    assert found.iterations == 0 and "no lower loss" in found.reason


def test_no_step_is_wild():
    """Far from the minimum of a flat function, a step by the curvature alone would jump a thousand times too far."""
    asked = []

    def flat(x):
        asked.append(x.copy())
        return float(np.sqrt(1 + x @ x)), x / np.sqrt(1 + x @ x)

    found = minimize(flat, np.full(3, 40.0), np.ones(3), 200)
    moves = np.abs(np.diff(asked, axis=0)).max(axis=1)
    assert moves.max() <= 3.0 + 1e-9
    np.testing.assert_allclose(found.x, 0.0, atol=1e-3)
