"""The trellis of a sentence: every number against enumeration, the same answers as the models', text and files."""

import json
import shutil
import subprocess
import sys
from functools import cache

import numpy as np
import oracle
import program
import pytest
from hypothesis import given, settings
from paths import TEST, TESTS, TRAIN
from test_candidates import all_tags, chains, lattice

from tagger import CRFTagger, HMMTagger, PooledTagger, Sentence, load_model, read_corpus
from tagger.chain.lattice import DenseLattice
from tagger.chain.pack import Pack
from tagger.chain.recursion_tables import lattice_tables
from tagger.chain.scores import Chain
from tagger.models.ensemble import Ensemble
from tagger.reports.text import width
from tagger.reports.trellis import WIDTH, as_json, as_text, as_tsv

CLOSE = {"rel": 1e-9, "abs": 1e-9}
GOLDEN = TESTS / "golden" / "trellis.txt"
SENTENCES = "They can fish .\nStop !\n\nThe old man the boats .\n"


# The tables against enumeration


def compare(tables, table, sentence):
    """Every state and every arc with all paths of a sentence, a list of dictionaries from candidate to score."""
    order, K, T = table.ndim - 1, len(table) - 1, len(sentence)
    transitions, every = table.tolist(), oracle.candidate_paths(order, table.tolist(), sentence)
    grams, log_z = oracle.ngram_marginals(every, order, K), oracle.log_z(every)
    assert tables.log_z == pytest.approx(log_z, **CLOSE)
    if log_z > -np.inf:
        states = tables.best_states()
        path = tuple(tables.tags[states[1:-1], -1].tolist())
        assert {p: s for s, p in every}[path] == pytest.approx(every[0][0], **CLOSE)
        assert tables.delta[states[-1]] == pytest.approx(every[0][0], **CLOSE)
    seen = set()
    for i, (position, tags) in enumerate(zip(tables.positions.tolist(), tables.tags.tolist(), strict=True)):
        seen.add((position, tuple(tags)))
        if not 0 < position <= T:
            continue
        t = position - 1
        context = tuple(tags)
        ways = [
            score
            for score, path in oracle.ways_to(order, transitions, sentence, t)
            if ((K,) * order + path)[-order:] == context
        ]
        assert tables.delta[i] == pytest.approx(max(ways), **CLOSE)
        assert tables.alpha[i] == pytest.approx(oracle.add_logs(ways), **CLOSE)
        onward = oracle.ways_on(order, transitions, sentence, t, context)
        assert tables.beta[i] == pytest.approx(oracle.add_logs(onward), **CLOSE)
        assert tables.emissions[i] == sentence[t][context[-1]]
        before = tables.before[tables.after == i]
        values = tables.delta[before] + tables.steps[tables.after == i]
        assert tables.pointers[i] == before[np.argmax(values)]
    assert len(seen) == len(tables.delta)  # no state twice
    for before, after, step, P in zip(
        tables.before, tables.after, tables.steps, tables.step_probabilities, strict=True
    ):
        gram = (*tables.tags[before].tolist(), int(tables.tags[after, -1]))
        assert step == oracle.weight(transitions, gram)
        expected = 0.0 if log_z == -np.inf else grams.get((int(tables.positions[after]) - 1, gram), 0.0)
        assert abs(P - expected) < 1e-9


@settings(max_examples=60, deadline=None)
@given(chains())
def test_every_number_of_a_chain_over_candidates_equals_enumeration(chain):
    table, sentences, _ = chain
    for sentence in sentences:
        if sentence and np.prod([len(token) for token in sentence]) <= 300:
            compare(lattice_tables(lattice(table, [sentence])), table, sentence)


@pytest.mark.parametrize("T", [1, 2, 4])
@pytest.mark.parametrize("kind", ["plain", "ties", "forbidden"])
def test_every_number_of_a_dense_chain_equals_enumeration(T, kind):
    random = np.random.default_rng(T)
    K = 3
    E, table = random.normal(size=(T, K)), random.normal(size=(K + 1, K + 1))
    if kind == "ties":
        E, table = np.round(E), np.round(table)
    if kind == "forbidden":
        table[random.random(table.shape) < 0.3] = -np.inf
    dense = DenseLattice(Chain(Pack.of([T]), table[K, :K], table[:K, :K], table[:K, K], E))
    compare(lattice_tables(dense), table, all_tags(E))


# The trellis of a model


@cache
def models():
    corpus = read_corpus(TRAIN)[:200]
    hmm, crf = HMMTagger().fit(corpus), CRFTagger(max_iterations=5).fit(corpus)
    few = [Sentence(s.words, s.tags) for s in corpus[:60]]
    return {
        "HMM of second order": hmm,
        "HMM of first order": HMMTagger(order=1).fit(corpus),
        "textbook HMM": HMMTagger(order=1, smoothing="none", unknown="floor").fit(corpus),
        "CRF": crf,
        "CRF of order 0": CRFTagger(max_iterations=5, order=0).fit(corpus),
        "CRF over candidates": CRFTagger(max_iterations=3, candidates=0.001).fit(few),
        "CRF of second order": CRFTagger(max_iterations=3, order=2).fit(few),
        "BiLSTM": load_model(TESTS / "models" / "format-3-bilstm.npz"),
        "pool": PooledTagger(max_iterations=3).fit(few),
        "ensemble": Ensemble([hmm, crf], ["hmm", "crf"]),
    }


NAMES = [
    "HMM of second order",
    "HMM of first order",
    "textbook HMM",
    "CRF",
    "CRF of order 0",
    "CRF over candidates",
    "CRF of second order",
    "BiLSTM",
    "pool",
]


@pytest.mark.parametrize("name", [*NAMES, "ensemble"])
def test_it_has_the_answers_of_the_model(name):
    model = models()[name]
    for sentence in read_corpus(TEST)[:4]:
        trellis = model.trellis(sentence, n=3)
        assert trellis.words == list(sentence.words)
        assert trellis.best.tags == model.predict([sentence])[0]
        expected = model.predict_nbest([sentence], 3)[0]
        assert [path.tags for path in trellis.paths] == [tags for _, tags in expected]
        assert [path.probability for path in trellis.paths] == pytest.approx([p for p, _ in expected])
        P = model.predict_marginals([sentence])[0]
        columns = {tag: k for k, tag in enumerate(model.classes_)}
        shown = trellis.view(0).tags
        for tag in shown:
            assert tag.probability == pytest.approx(P[tag.token - 1, columns[tag.tag]], abs=1e-5)
            assert tag.is_best == (trellis.best.tags[tag.token - 1] == tag.tag)
        assert sum(tag.probability for tag in shown) == pytest.approx(len(sentence), abs=1e-4)


def log_sum(values):
    return oracle.add_logs([*values, -np.inf])


@pytest.mark.parametrize("shown", [0, 2])
@pytest.mark.parametrize("name", NAMES)
def test_the_numbers_of_a_view_fulfil_the_recursions(name, shown):
    """With what is left out as one more term."""
    trellis = models()[name].trellis(["They", "can", "fish", "in", "the", "old", "park", "."])
    view = trellis.view(shown)
    assert bool(view.left_out) == bool(shown) or trellis.order == 2
    last = view.states[-1].token
    for i, state in enumerate(view.states):
        into = [step for step in view.steps if step.after == i]
        out = [step for step in view.steps if step.before == i]
        if state.token:
            alphas = [view.states[step.before].alpha + step.score for step in into]
            assert state.alpha == pytest.approx(log_sum([*alphas, state.alpha_rest]) + (state.emission or 0), **CLOSE)
        if state.token < last:
            after = [view.states[step.after] for step in out]
            betas = [s.score + (j.emission or 0) + j.beta for s, j in zip(out, after, strict=True)]
            assert state.beta == pytest.approx(log_sum([*betas, state.beta_rest]), **CLOSE)
        if state.pointer is not None:
            step = next(step for step in into if step.before == state.pointer)
            best = view.states[state.pointer].delta + step.score + (state.emission or 0)
            assert state.delta == pytest.approx(best, **CLOSE)
            assert (
                state.delta >= max(view.states[s.before].delta + s.score for s in into) + (state.emission or 0) - 1e-9
            )
        assert state.probability == pytest.approx(np.exp(state.alpha + state.beta - trellis.log_z), abs=1e-9)
    path = [state.tag for state in view.states if state.is_best]
    assert path[1:-1] == trellis.best.tags and path[0] == "<start>" and path[-1] == "<end>"
    assert sum(step.is_best for step in view.steps) == len(path) - 1
    assert log_sum([s.alpha for s in trellis.view(0).states if s.token == last]) == pytest.approx(trellis.log_z)


def test_models_together_say_what_they_do_not_have():
    trellis = models()["ensemble"].trellis(["They", "fish"])
    view = trellis.view()
    assert not view.states and not view.steps and trellis.log_z is None and trellis.best.score is None
    assert view.tags and "no chain" in trellis.note and "no chain" in str(trellis)
    assert "delta" not in str(trellis).split("\n\n", 1)[1]


def test_a_pool_says_that_its_probabilities_are_calibrated():
    trellis = models()["pool"].trellis(["They", "can", "fish"])
    assert "no candidates" in trellis.note and trellis.order == 2
    best = [tag.probability for tag in trellis.view().tags if tag.is_best]
    states = trellis.view(0).states
    chain = [
        sum(s.probability for s in states if s.token == t and s.tag == trellis.best.tags[t - 1]) for t in (1, 2, 3)
    ]
    assert all(calibrated < own for calibrated, own in zip(best, chain, strict=True))


def test_a_crf_of_order_0_says_that_its_steps_score_nothing():
    trellis = models()["CRF of order 0"].trellis(["They", "can", "fish"])
    assert "score 0" in trellis.note and "score 0" in str(trellis)
    assert not trellis.tables.steps.any()
    assert models()["CRF"].trellis(["They"]).note is None


def test_a_sentence_without_words_has_one_tagging():
    trellis = models()["CRF"].trellis([])
    assert trellis.best.tags == [] and trellis.view().states == [] and "prob" in str(trellis)


def test_a_sentence_without_a_path_says_so(monkeypatch):
    model = models()["HMM of first order"]
    forbidden = lambda X, allowed=None: iter([(np.array([0]), next(lattices(X))[1].restrict(nothing))])  # noqa: E731
    nothing, lattices = np.zeros((2, len(model.classes_)), bool), model.lattices
    monkeypatch.setitem(model.__dict__, "lattices", forbidden)
    trellis = model.trellis(["They", "fish"])
    assert trellis.best is None and trellis.paths == [] and "no path is allowed" in str(trellis)
    assert json.loads(json.dumps(as_json(trellis)))["log_z"] is None
    assert not any(state.is_best for state in trellis.view().states)


# Text, TSV and JSON


@pytest.fixture(scope="module")
def folder(tmp_path_factory, models):
    folder = tmp_path_factory.mktemp("trellis")
    for kind in ("crf", "hmm"):
        shutil.copy(models / f"{kind}.npz", folder)
    shutil.copy(models / "hmm.npz", folder / "model.npz")
    return folder


def run(folder, *args, input=""):
    done = program.run(folder, "trellis", *args, input=input)
    assert "Traceback" not in done.err
    return done


def test_three_sentences_are_printed_like_this(folder):
    """`python tests/test_trellis.py` writes the file anew: read the diff."""
    done = run(folder, "--tags", 3, "--nbest", 3, input=SENTENCES)
    assert done.code == 0 and done.err == "" and done.out == GOLDEN.read_text("utf-8")


def test_lines_fit_a_terminal():
    long = ["Donaudampfschifffahrtsgesellschaft" * 3, "日本語" * 30, "e\u0301" * 90, "."]
    tags = [f"{name}-{'very-long-tag-' * 4}" for name in "ABCD"]
    corpus = [Sentence(long, tags), Sentence(long[::-1], tags)] * 3
    for model in (HMMTagger().fit(corpus), HMMTagger(order=1).fit(corpus)):
        lines = as_text(model.trellis(long)).splitlines()[2:]
        assert max(map(width, lines)) <= WIDTH and any("…" in line for line in lines)


@pytest.mark.parametrize("name", [*NAMES, "ensemble"])
def test_files_have_the_numbers_of_the_view(name):
    trellis = models()[name].trellis(["They", "can", "fish", "."])
    view, values = trellis.view(3), json.loads(json.dumps(as_json(trellis, 3), allow_nan=False))
    assert [state["delta"] for state in values["states"]] == [state.delta for state in view.states]
    assert [step["probability"] for step in values["steps"]] == [step.probability for step in view.steps]
    assert values["best"]["tags"] == trellis.best.tags and values["left_out"] == view.left_out
    sections = dict(text.split("\n", 1) for text in as_tsv(trellis, 3).split("\n\n"))
    rows = {title[2:]: [line.split("\t") for line in text.splitlines()] for title, text in sections.items()}
    assert set(rows) == {"tags", "paths"} | ({"states", "steps"} if view.states else set())
    for title in rows.keys() & {"tags", "states", "steps"}:
        head, *cells = rows[title]
        assert head == list(values[title][0]) and len(cells) == len(values[title])
        column = head.index("probability")
        assert [float(row[column]) for row in cells] == [row["probability"] for row in values[title]]


def test_control_characters_of_words_do_not_reach_a_terminal(folder):
    out = run(folder, input="\x1b[31mred <b> fish\n").out
    assert "\x1b" not in out and "\\x1b[31mred" in out
    assert "\x1b" not in run(folder, "--tsv", input="\x1b[31mred\n").out


# The command


def test_words_are_given_in_quotes_or_without(folder):
    assert run(folder, "They can fish .").out == run(folder, "They", "can", "fish", ".").out
    assert run(folder, "They can fish .").out == run(folder, input="They can fish .\n").out
    several = run(folder, "They fish", "-m", "hmm.npz", "-m", "crf.npz", "--json")
    assert json.loads(several.out)["note"].startswith("Several models")
    assert run(folder, input="\n\n").out == ""


@pytest.mark.parametrize(
    "args, message",
    [
        (["crf.npz"], "got the file 'crf.npz'. Use -m crf.npz."),
        (["words.txt"], "got the file 'words.txt'. Use < words.txt."),
        (["They", "--tags", "-1"], "--tags"),
    ],
)
def test_wrong_usage_is_explained(folder, args, message):
    (folder / "words.txt").write_text("They fish\n", "utf-8")
    done = run(folder, *args)
    assert done.code == 2 and message in done.err


def test_tagging_does_not_load_any_of_it():
    code = (
        "import sys; import tagger.cli.commands.tag; import tagger.hmm.tagger, tagger.crf.tagger;"
        "late = {'tagger.hmm.textbook.emissions', 'tagger.hmm.summary', 'tagger.models.labeled'};"
        "late |= {'tagger.models.trellis', 'tagger.chain.recursion_tables', 'tagger.chain.padded'};"
        "late |= {'tagger.reports.trellis'};"
        "assert not late & set(sys.modules), late & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        program.run(place, "train-hmm", TRAIN)
        GOLDEN.write_text(run(place, "--tags", 3, "--nbest", 3, input=SENTENCES).out, "utf-8")


@pytest.mark.parametrize(
    ("name", "order"), [("CRF of order 0", "zeroth"), ("CRF", "first"), ("CRF of second order", "second")]
)
def test_it_tells_the_order_of_the_model(name, order):
    assert f"model: crf, {order} order," in str(models()[name].trellis(["The", "dog"]))
