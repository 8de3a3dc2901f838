"""All models share one Viterbi, one n-best search and one forward–backward: traced calls show it.

A sentence that comes alone takes the shortcut of `tagger.chain.single`, for all models again; its answers are compared
with these in test_few.py.
"""

import sys
from collections import Counter

import pytest

from tagger import CRFTagger, HMMTagger, Sentence
from tagger.models.ensemble import Ensemble

CORPUS = [
    Sentence(["The", "dog", "barks", "."], ["DT", "NN", "VBZ", "."]),
    Sentence(["A", "cat", "sleeps", "."], ["DT", "NN", "VBZ", "."]),
]
RECURSIONS = ("viterbi", "n_best", "search", "forward_backward", "forward", "backward")
HOMES = {
    "viterbi": "tagger.chain.viterbi",
    "n_best": "tagger.chain.nbest",
    "search": "tagger.chain.nbest",
    "forward_backward": "tagger.chain.forward_backward",
    "forward": "tagger.chain.recursion",
    "backward": "tagger.chain.recursion",
}


def bilstm():
    pytest.importorskip("torch")
    from tagger import BiLSTMTagger

    return BiLSTMTagger(epochs=1)


MODELS = {
    "HMM of second order": HMMTagger,
    "HMM of first order": lambda: HMMTagger(order=1),
    "CRF": lambda: CRFTagger(max_iterations=2),
    "CRF over candidates": lambda: CRFTagger(max_iterations=2, candidates=0.001),
    "CRF of second order": lambda: CRFTagger(max_iterations=2, order=2),
    "BiLSTM": bilstm,
}


def calls(work):
    """Count the calls of functions in tagger.chain, by module and name."""
    counts = Counter()

    def trace(frame, event, argument):
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("tagger."):
            counts[module, frame.f_code.co_name] += 1

    sys.setprofile(trace)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counts


def recursions(counts):
    """Where functions with the name of a recursion were called; methods of lattices only pass on."""
    passing = {
        ("tagger.chain.lattice", "n_best"),
        ("tagger.chain.candidate_lattice", "n_best"),
        ("tagger.models.sentence_results", "n_best"),
        ("tagger.models.ensemble", "n_best"),
    }
    return {place for place in counts if place[1] in RECURSIONS and place not in passing}


@pytest.mark.parametrize("name", [*MODELS, "ensemble"])
def test_every_model_runs_through_the_same_recursions(name):
    if name == "ensemble":
        model = Ensemble([HMMTagger().fit(CORPUS), HMMTagger(order=1).fit(CORPUS)], ["a", "b"])
    else:
        model = MODELS[name]().fit(CORPUS)
    words = [["The", "cat", "barks", "."], ["A", "dog", "sleeps", "."]]
    # An ensemble takes the best mean of each token; candidates are chosen by the probabilities of an HMM.
    by_marginals = name in ("ensemble", "CRF over candidates", "CRF of second order")
    also = {"forward_backward", "backward"} if by_marginals else set()
    expected = {
        "predict": {"forward"} | ({"viterbi"} if name != "ensemble" else set()) | also,
        "nbest": {"n_best", "search", "forward"} | also,
        "marginals": {"forward_backward", "forward", "backward"},
    }
    for question, work in (
        ("predict", lambda: model.predict(words)),
        ("nbest", lambda: model.predict_nbest(words, 3)),
        ("marginals", lambda: model.predict_marginals(words)),
    ):
        places = recursions(calls(work))
        assert places == {(HOMES[function], function) for function in expected[question]}, question
