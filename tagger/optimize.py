"""Minimise a function given its value and gradient; knows no linguistics.

SciPy's L-BFGS-B does the work. What is added here is a change of variables and a reason to stop. The variables
optimised are z with x = z · scale: a scale that makes the curvature similar in all directions saves more than half of
the evaluations (a diagonal preconditioner). Training ends when the loss has fallen by less than `tolerance`,
relatively, over ten iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

PERIOD = 10  # iterations over which the fall of the loss is judged

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass(frozen=True)
class Result:
    x: np.ndarray
    loss: float
    iterations: int
    evaluations: int
    reason: str


def minimise(
    function: Function,
    x: np.ndarray,
    scale: np.ndarray,
    max_iterations: int,
    tolerance: float,
    watch: Callable[[int, float, np.ndarray], None] = lambda iteration, loss, x: None,
) -> Result:
    """Walk from x to a minimum; `watch` is told the iteration, the loss and x after each step."""
    losses: list[float] = []
    reason = ""

    def scaled(z: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient = function(z * scale)
        return loss, gradient * scale

    def after_step(intermediate_result: Any) -> None:
        nonlocal reason
        losses.append(float(intermediate_result.fun))
        watch(len(losses), losses[-1], intermediate_result.x * scale)
        if len(losses) > PERIOD and losses[-1 - PERIOD] - losses[-1] < tolerance * losses[-1]:
            reason = f"the loss fell by less than {tolerance:g} of itself in {PERIOD} iterations"
            raise StopIteration

    options = {
        "maxiter": max_iterations,
        "maxfun": 20 * max_iterations,
        "maxcor": 10,
        "ftol": 0.0,
        "gtol": 0.0,
    }
    found = minimize(scaled, x / scale, jac=True, method="L-BFGS-B", callback=after_step, options=options)
    if not reason:
        full = len(losses) >= max_iterations
        reason = f"{max_iterations} iterations were allowed" if full else "no lower loss could be found"
    return Result(found.x * scale, float(found.fun), len(losses), int(found.nfev), reason)
