"""One sentence at a time, as programs ask for it: the same answers as the packed recursions, with little set-up.

- `dense`: the best path over all tags, first order;
- `candidates`: the best path and the probabilities of candidate tags, second order, in Python lists.

The idea: a packed recursion costs a few hundred NumPy calls, which many sentences share. One sentence has fewer numbers
than that, so here a call is avoided wherever a handful of numbers is all it would work on.
"""
