"""CRFs over candidates, of first and second order: their scores, constraints, files and commands."""

import json
import math

import numpy as np
import oracle
import pytest
from feature_table import weight_table
from paths import TEST, TRAIN
from program import run

from tagger import CRFTagger, HMMTagger, Sentence, load_model, read_corpus, save_model
from tagger.chain import candidate_kernels
from tagger.crf import settings
from tagger.crf.candidates import node_scorer
from tagger.crf.candidates import scorer as candidate_scorer
from tagger.errors import ModelError, TrainingError
from tagger.features.template import describe
from tagger.hmm import tagger as hmm_tagger
from tagger.models.checkpoint import Checkpoint
from tagger.models.explain import explain
from tagger.tagging.annotator import Annotator
from tagger.tagging.constraints import Constraints

KINDS = {"candidates": {"candidates": 0.001}, "second order": {"order": 2}}
CORPUS = [
    Sentence(words.split(), tags.split())
    for words, tags in [
        ("the dog barks .", "D N V ."),
        ("the bark is old .", "D N V A ."),
        ("old dogs bark", "A N V"),
        ("dogs old", "N A"),
        ("is the dog old", "V D N A"),
        ("bark bark bark", "V N V"),
        ("the old dog", "D A N"),
        ("the old bark", "D N V"),
    ]
]
TEXT = [words.split() for words in ("the old bark barks", "dogs", "", "new cats the .", "old old bark", "the the")]


def fitted(kind, **changes):
    return CRFTagger(**{"max_iterations": 10, "l2": 0.1} | KINDS[kind] | changes).fit(CORPUS)


@pytest.fixture(scope="module", params=KINDS)
def model(request):
    """Trained with a low threshold on random tags, so that tokens have several candidates."""
    random = np.random.default_rng(1)
    words = [[f"w{i}" for i in random.integers(0, 12, n)] for n in random.integers(1, 7, 60)]
    tags = [[("A", "B+C", "B+D", "E+D")[k] for k in random.integers(0, 4, len(own))] for own in words]
    return CRFTagger(**KINDS[request.param] | {"candidates": 0.02, "max_iterations": 15}).fit(words, tags)


WORDS = [words.split() for words in ("w1 w2 w3", "w4", "", "w5 new w6 w7", "w8 w8")]


def by_definition(model, words, allowed=None):
    """All paths over the candidates with their scores, from the features as text and the HMM's probabilities."""
    K, names = len(model.classes_), model.classes_
    table = np.zeros((K + 1,) * (model.order + 1))
    table[..., :K, :K] += model.transitions_
    table[..., K, :K] += model.start_
    table[..., :K, K] += model.end_
    for key, weight in zip(model.trigrams_.keys.tolist(), model.trigrams_.weights.tolist(), strict=True):
        table[key // (K + 1) ** 2, key // (K + 1) % (K + 1), key % (K + 1)] += weight
    weights = weight_table(model.features_, model.weights_.astype(float))
    parts = {name: K + a for a, name in enumerate(model.tag_parts_.names)}
    ((_, lattice),) = model.proposer_.lattices([words])
    P = (lattice if allowed is None else lattice.restrict(allowed)).marginals()
    candidates = []
    for t, row in enumerate(describe(words, model.features_.templates)):
        candidates.append({})
        for k in range(K):
            if P[t, k] > model.threshold_ or P[t, k] == P[t].max():
                ends = (names[k].split("+")[0] + "+", "+" + names[k].split("+")[-1])
                columns = [k, *(parts[part] for part in ends if part in parts)]
                score = sum(weights.get((feature, column), 0.0) for feature in row for column in columns)
                low = 0.1 * model.threshold_
                candidates[-1][k] = score + float(model.posterior_weight_[0]) * math.log(max(P[t, k], low))
    return oracle.candidate_paths(model.order, table.tolist(), candidates)


def compare(model, words, lattice, allowed=None):
    """Compare log-probabilities: the scores of tokens without a choice are the same for all paths and left out."""
    every = by_definition(model, words, allowed)
    z, log_z = oracle.log_z(every), lattice.log_z()[0]
    log_p = {path: s - z for s, path in every}
    tags, best = lattice.best(), every[0][0] - z
    assert lattice.path_scores(tags)[0] - log_z == pytest.approx(best, abs=1e-5)  # weights are float32
    assert log_p[tuple(tags.tolist())] == pytest.approx(best, abs=1e-5)
    found = lattice.n_best(1000)[0]
    assert len(found) == min(1000, len(every))
    assert [s - log_z for s, _ in found] == pytest.approx(list(log_p.values())[:1000], abs=1e-5)
    assert all(log_p[tuple(path.tolist())] == pytest.approx(s - log_z, abs=1e-5) for s, path in found)
    if words:
        expected = oracle.node_marginals(every, len(model.classes_))
        np.testing.assert_allclose(lattice.marginals(), expected, atol=1e-5)
    return len(every)


@pytest.mark.parametrize("large, wide, cells", [(1000, 0, 1), (0, 0, 1), (0, 12, 100), (0, 1000, 1 << 20)])
def test_every_answer_equals_its_definition_path_by_path(model, monkeypatch, large, wide, cells):
    """By both scorers of nodes: with rows of all tags, and without them for large tag sets, in tables or not."""
    monkeypatch.setattr(candidate_scorer, "ROW_SCORER_TAGS", large)
    monkeypatch.setattr(node_scorer, "WIDE_TEMPLATE", wide)
    monkeypatch.setattr(node_scorer, "BLOCK_CELLS", cells)
    monkeypatch.setattr(candidate_kernels, "SCORED_STATES", 7)
    sizes = np.diff(model.features_.bases)
    assert sizes.min() < 12 < sizes.max() < 1000
    score = model.build_scorer()
    paths = [compare(model, words, score([words])) for words in WORDS]
    assert max(paths) > 20
    together = score(WORDS)
    assert together.log_z() == pytest.approx([score([words]).log_z()[0] for words in WORDS], abs=1e-9)


def test_constraints_hold_for_the_candidates_too(model):
    random = np.random.default_rng(0)
    for words in WORDS:
        allowed = random.random((len(words), len(model.classes_))) < 0.5
        allowed[np.arange(len(words)), random.integers(0, len(model.classes_), len(words))] = True
        ((_, lattice),) = model.lattices([words])
        compare(model, words, lattice.restrict(allowed), allowed)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tag_that_is_kept_or_in_the_lexicon_wins_even_if_it_is_no_candidate(kind):
    model = fitted(kind, candidates=0.4)
    ((_, lattice),) = model.lattices([["the", "dog", "barks", "."]])
    candidates = lattice.candidates
    assert model.classes_.index("V") not in candidates.tags[candidates.tokens <= 1]
    assert candidates.tags[candidates.tokens == 2].tolist() == [model.classes_.index("V")]
    kept = Annotator(model, Constraints(model.classes_, keep_tags=True), probabilities=True, nbest=3).start()
    (found,) = kept([Sentence(["the", "dog", "barks", "."], ["V", "?", "A|.", "?"])])
    assert found.tags[0] == "V" and found.tags[2] in ("A", ".")
    assert found.probabilities[0] == pytest.approx(1.0) and sum(p for p, _ in found.nbest) <= 1 + 1e-9
    assert all(tags[0] == "V" and tags[2] in ("A", ".") for _, tags in found.nbest)
    lexicon = Constraints(model.classes_, {"the": ("A", "."), "dog": ("V",)})
    (found,) = Annotator(model, lexicon).start()([Sentence(["the", "dog", "barks"])])
    assert found.tags[0] in ("A", ".") and found.tags[1] == "V"


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_of_all_taggings_sum_to_one(kind):
    model = fitted(kind, candidates=0.01)
    every, marginals = model.predict_nbest(TEXT, 10_000), model.predict_marginals(TEXT)
    assert max(map(len, every)) > 5
    for words, found, P in zip(TEXT, every, marginals, strict=True):
        assert sum(p for p, _ in found) == pytest.approx(1.0, abs=1e-9)
        np.testing.assert_allclose(P.sum(axis=1), np.ones(len(words)), atol=1e-9)
        for t in range(len(words)):
            for k, name in enumerate(model.classes_):
                assert sum(p for p, tags in found if tags[t] == name) == pytest.approx(P[t, k], abs=1e-9)


def test_the_terms_of_an_explanation_add_up_to_the_difference_of_the_scores(model):
    numbers, compared = {name: k for k, name in enumerate(model.classes_)}, 0
    for words, tokens in zip(WORDS, explain(model, WORDS), strict=True):
        ((_, lattice),) = model.lattices([words])
        path = np.array([numbers[token.tag] for token in tokens], np.int64)
        for t, token in enumerate(tokens):
            other = path.copy()
            other[t] = numbers[token.runner_up]
            assert token.is_candidate == lattice.considers(other).all()
            if token.is_candidate:
                difference = (lattice.path_scores(path) - lattice.path_scores(other))[0]
                assert token.difference == pytest.approx(difference, abs=1e-5)
                compared += 1
    assert compared > 3


@pytest.mark.usefixtures("threads_for_all")
@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_no_byte_and_a_file_is_written_the_same_again(kind, tmp_path):
    corpus = read_corpus(TRAIN)[:100]
    for threads in (1, 2):
        model = CRFTagger(max_iterations=4, threads=threads, **KINDS[kind]).fit(corpus)
        save_model(model, tmp_path / f"{threads}.npz")
    loaded = load_model(tmp_path / "1.npz")
    save_model(loaded, tmp_path / "again.npz")
    assert len({(tmp_path / f"{name}.npz").read_bytes() for name in ("1", "2", "again")}) == 1
    assert loaded.order == KINDS[kind].get("order", 1) and loaded.threshold_ == 0.001
    assert loaded.lexicon_ is loaded.proposer_.lexicon_  # stored once


@pytest.mark.parametrize("kind", KINDS)
def test_open_tags_are_learned_from_what_surrounds_them(kind, tmp_path):
    text = [("the dog runs", "D N V"), ("the cat sits", "D N V")] * 5 + [("the zig runs", "D ? V|D")] * 5
    corpus = [Sentence(words.split(), tags.split()) for words, tags in text]
    model = CRFTagger(partial=True, l2=0.05, max_iterations=30, **KINDS[kind]).fit(corpus)
    assert model.predict([["the", "zig", "sits"]]) == [["D", "N", "V"]]
    assert model.classes_ == ["D", "N", "V"] and model.lexicon_.known(["dog", "zig"]).tolist() == [True, False]
    for partial in (False, True):
        whole = CRFTagger(partial=partial, max_iterations=5, **KINDS[kind]).fit(corpus[:10])
        save_model(whole, tmp_path / f"{partial}.npz")
    # The HMM remembers how it was trained; the weights are the same.
    a, b = (load_model(tmp_path / f"{partial}.npz") for partial in (False, True))
    np.testing.assert_array_equal(a.weights_, b.weights_)
    assert a.predict(TEXT) == b.predict(TEXT)


@pytest.mark.parametrize("kind", KINDS)
def test_a_resumed_training_ends_where_an_uninterrupted_one_does(kind, tmp_path):
    whole = fitted(kind, max_iterations=60, tolerance=1e-4)
    path = tmp_path / "c"
    CRFTagger(max_iterations=60, tolerance=1e-4, l2=0.1, **KINDS[kind]).fit(
        CORPUS,
        checkpoint=Checkpoint(path, every=1, keep=True),
        watch=lambda progress: "enough" if progress.iteration == 5 else None,
    )
    resumed = CRFTagger(max_iterations=60, tolerance=1e-4, l2=0.1, **KINDS[kind])
    resumed.fit(CORPUS, checkpoint=Checkpoint(path, resume=True, keep=True))
    assert resumed.summary_["iterations"] > 5
    assert resumed.summary_["loss"] == pytest.approx(whole.summary_["loss"], rel=1e-2)
    for order, candidates in ((1, "all"), (1, 0.01), (2, 0.01)):
        with pytest.raises(TrainingError, match="another chain"):
            CRFTagger(l2=0.1, order=order, candidates=candidates).fit(
                CORPUS, checkpoint=Checkpoint(path, resume=True, keep=True)
            )


def test_an_l1_penalty_makes_weights_zero():
    plain, sparse = fitted("second order", max_iterations=40), fitted("second order", max_iterations=40, l1=0.3)
    assert 0 < len(sparse.weights_) < len(plain.weights_) / 2
    assert np.count_nonzero(sparse.trigrams_.weights) < np.count_nonzero(plain.trigrams_.weights)
    assert sparse.predict([CORPUS[0].words]) == [list(CORPUS[0].tags)]


@pytest.mark.parametrize("kind", KINDS)
def test_training_continues_from_a_model(kind):
    """It keeps its HMM, its order and its candidates, and stays near its weights where the corpus says nothing."""
    first = fitted(kind, max_iterations=30)
    corpus = [Sentence(["the", "zig", "zags"], ["D", "N", "V"])] * 3
    again = CRFTagger(max_iterations=10, order=first.order).fit(corpus, init=first)
    assert again.proposer_ is first.proposer_ and again.threshold_ == first.threshold_
    assert again.predict([["the", "zig", "zags"]]) == [["D", "N", "V"]]
    assert again.predict([CORPUS[0].words]) == first.predict([CORPUS[0].words])
    with pytest.raises(TrainingError, match=r"init.*NEW.*without init"):
        CRFTagger(order=first.order).fit([Sentence(["a"], ["NEW"])], init=first)


@pytest.mark.parametrize(
    "wrong",
    [
        {"order": 2, "candidates": "all"},
        {"order": 0, "candidates": 0.01},
        {"order": -1},
        {"order": 3},
        {"order": "2"},
        {"candidates": "some"},
        {"candidates": "0"},
        {"candidates": 0},
        {"candidates": 0.5},
        {"candidates": -0.1},
        {"candidates": math.nan},
        {"candidates": math.inf},
        {"candidates": None},
        {"candidates": [0.1]},
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(TrainingError, match=r"^(order|candidates): expected"):
        CRFTagger(**wrong).fit(CORPUS)


def test_a_number_may_be_given_as_text():
    assert fitted("candidates", candidates="0.01").threshold_ == 0.01
    settings.check_chain(2, "auto")


# Model files


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for kind in KINDS:
        save_model(fitted(kind), folder / f"{kind}.npz")
    save_model(CRFTagger(max_iterations=3).fit(CORPUS), folder / "all.npz")
    save_model(HMMTagger(order=1).fit(CORPUS), folder / "hmm-1.npz")
    return folder


def rewritten(path, target, meta=lambda meta: None, **changes):
    """Copy a model file with another description and other members (None removes one)."""
    with np.load(path) as members:
        arrays = {name: members[name] for name in members}
    description = json.loads(arrays["meta"].tobytes())
    meta(description)
    arrays["meta"] = np.frombuffer(json.dumps(description).encode(), np.uint8)
    arrays |= {name.replace("__", "."): array for name, array in changes.items()}
    np.savez(target, **{name: array for name, array in arrays.items() if array is not None})
    return target


def refused(path):
    with pytest.raises(ModelError) as error:
        load_model(path)
    message = str(error.value)
    assert message.startswith(str(path)) and "\n" not in message
    return message


def setting(name, value):
    return lambda meta: meta.__setitem__(name, value)


def in_settings(name, value, of="settings"):
    return lambda meta: meta[of].__setitem__(name, value)


FORGED = {
    "no threshold": (lambda meta: meta.pop("threshold"), "threshold"),
    "threshold null": (setting("threshold", None), "threshold"),
    "threshold 0": (setting("threshold", 0.0), "threshold"),
    "threshold 0.5": (setting("threshold", 0.5), "threshold"),
    "threshold below 0": (setting("threshold", -0.001), "threshold"),
    "threshold above 1": (setting("threshold", 2.0), "threshold"),
    "threshold NaN": (setting("threshold", math.nan), "not finite"),
    "threshold infinite": (setting("threshold", math.inf), "not finite"),
    "threshold a text": (setting("threshold", "0.001"), "threshold"),
    "threshold a truth value": (setting("threshold", True), "threshold"),
    "no proposer": (lambda meta: meta.pop("proposer"), ""),
    "proposer a text": (setting("proposer", "hmm"), "settings"),
    "proposer a list": (setting("proposer", [1, 2]), "settings"),
    "proposer of first order": (in_settings("order", 1, "proposer"), "second order"),
    "proposer of third order": (in_settings("order", 3, "proposer"), "second order"),
    "proposer with an unknown setting": (in_settings("colour", 1, "proposer"), "colour"),
    "proposer with a text for a number": (in_settings("suffix_length", "5", "proposer"), "suffix_length"),
    "order 0": (in_settings("order", 0), "order"),
    "order 3": (in_settings("order", 3), "order"),
    "order a text": (in_settings("order", "2"), "order"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FORGED)
def test_a_forged_description_is_refused(files, tmp_path, kind, name):
    change, reason = FORGED[name]
    assert reason in refused(rewritten(files / f"{kind}.npz", tmp_path / "forged.npz", change))


def test_another_order_than_its_arrays_is_refused(files, tmp_path):
    assert "trigrams" in refused(rewritten(files / "candidates.npz", tmp_path / "a.npz", in_settings("order", 2)))
    assert "trigrams" in refused(rewritten(files / "second order.npz", tmp_path / "b.npz", in_settings("order", 1)))


def test_candidates_without_an_hmm_are_refused(files, tmp_path):
    refused(rewritten(files / "all.npz", tmp_path / "a.npz", setting("threshold", 0.001)))
    refused(rewritten(files / "all.npz", tmp_path / "b.npz", in_settings("order", 2)))
    extra = {"posterior": np.ones(1, np.float32), "hmm__pi": np.ones(3)}
    for name, array in extra.items():
        refused(rewritten(files / "all.npz", tmp_path / "c.npz", **{name: array}))


@pytest.mark.parametrize("kind", KINDS)
def test_every_array_is_needed_and_no_other_is_taken(files, tmp_path, kind):
    path = files / f"{kind}.npz"
    with np.load(path) as members:
        names = [name for name in members if name != "meta"]
    assert sum(name.startswith("hmm.") for name in names) > 5 and "posterior" in names
    optional = set()
    for name in names:
        target = rewritten(path, tmp_path / "less.npz", **{name: None})
        try:
            load_model(target)
            optional.add(name)
        except ModelError as error:
            assert str(target) in str(error) and "\n" not in str(error)
    assert not optional
    for name in ("hmm__extra", "hmm__hmm__pi", "extra", "trigrams__more"):
        refused(rewritten(path, tmp_path / "more.npz", **{name: np.ones(2)}))
    for wrong in (np.ones(2, np.float32), np.ones(0, np.float32), np.array([np.nan], np.float32), np.ones(1, np.int64)):
        refused(rewritten(path, tmp_path / "posterior.npz", posterior=wrong))


def test_keys_of_trigrams_rise_and_fit(files, tmp_path):
    path = files / "second order.npz"
    model = load_model(path)
    n, most = len(model.trigrams_.keys), (len(model.classes_) + 1) ** 3
    good = np.diff(model.trigrams_.keys, prepend=0)
    for wrong in (
        good * 0,  # the same key again and again
        np.append(good[:-1], 0),
        np.append(good[:-1], most),
        np.append(good[:-1], most - 1 - good[:-1].sum() + 1),
        np.append(good[:-1].astype(np.uint64), np.uint64(2**64 - 1)),  # wraps around
        np.full(n, 2**63, np.uint64),
        good[:-1],
        np.append(good, 1),
    ):
        assert "trigrams" in refused(
            rewritten(path, tmp_path / "keys.npz", trigrams__gaps=np.asarray(wrong).astype(np.uint64))
        )
    last = np.append(good[:-1], most - 1 - good[:-1].sum()).astype(np.uint64)  # the largest key that fits
    assert load_model(rewritten(path, tmp_path / "last.npz", trigrams__gaps=last)).trigrams_.keys[-1] == most - 1
    for wrong in (np.zeros(n - 1, np.float32), np.full(n, np.inf, np.float32), np.zeros((n, 1), np.float32)):
        assert "trigrams" in refused(rewritten(path, tmp_path / "weights.npz", trigrams__weights=wrong))


# Commands


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the model of a training on the command line, and its log."""
    folder = tmp_path_factory.mktemp("commands")
    options = ["--order", 2, "--max-iterations", 10, "--dev", TEST, "--log", "log.jsonl"]
    done = run(folder, "train-crf", TRAIN, *options)
    assert done.code == 0, done.err
    return folder


def test_a_training_is_logged(folder):
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert len(rows) == 10 and rows[-1]["loss"] < rows[0]["loss"]
    assert not (folder / "model.npz.checkpoint").exists()
    model = load_model(folder / "model.npz")
    assert model.order == 2 and model.threshold_ == 0.001 and len(model.trigrams_.keys) > 100
    accuracy = model.score(read_corpus(TEST))
    assert accuracy == pytest.approx(model.summary_["dev_accuracy"]) and accuracy > 0.9


def test_tag_in_all_its_ways(folder):
    text = "They can fish .\n\nThe old man the boats .\n"
    done = run(folder, "tag", input=text)
    assert done.code == 0 and done.out.startswith("They/PRP can/MD fish/NN ./.\n\nThe/DT ")
    best = run(folder, "tag", "--nbest", 3, input="They can fish .\n")
    rows = [line.split("\t") for line in best.out.strip().splitlines()]
    assert best.code == 0 and len(rows) == 3 and rows[0][2] == "They/PRP can/MD fish/NN ./."
    p = [float(row[1]) for row in rows]
    assert p == sorted(p, reverse=True) and 0.5 < sum(p) <= 1
    sure = run(folder, "tag", "--probabilities", "--output-format", "jsonl", input="They can fish .\n")
    (row,) = map(json.loads, sure.out.splitlines())
    assert sure.code == 0 and row["tags"] == ["PRP", "MD", "NN", "."]
    assert row["probabilities"][0] == 1.0 and p[0] < row["probabilities"][2] < 1
    kept = run(folder, "tag", "--keep-tags", input="They/VB can/? fish/NN|JJ ./?\n")
    assert kept.code == 0 and kept.out.startswith("They/VB ") and ("fish/NN" in kept.out or "fish/JJ" in kept.out)
    (folder / "lexicon.tsv").write_text("fish\tUH\n")
    listed = run(folder, "tag", "--lexicon", "lexicon.tsv", input="They can fish .\n")
    assert listed.code == 0 and "fish/UH" in listed.out


def test_eval_inspect_and_explain(folder):
    done = run(folder, "eval", TEST)
    assert done.code == 0 and "accuracy" in done.out.lower()
    shown = run(folder, "inspect")
    assert shown.code == 0 and "order" in shown.out and "0.001" in shown.out
    why = run(folder, "explain", input="They can fish .\n")
    assert why.code == 0 and why.out.startswith("They/PRP") and "probability by the HMM" in why.out


def test_resume_on_the_command_line(folder, tmp_path):
    common = ["train-crf", TRAIN, "--order", 2, "-q"]
    done = run(tmp_path, *common, "--resume")
    assert done.code == 1 and "checkpoint" in done.err and done.err.count("\n") == 1
    model = CRFTagger(order=2, max_iterations=200)
    model.fit(
        read_corpus(TRAIN),
        checkpoint=Checkpoint(tmp_path / "model.npz.checkpoint", every=1, keep=True),
        watch=lambda progress: "enough" if progress.iteration == 3 else None,
    )
    wrong = run(tmp_path, "train-crf", TRAIN, "-q", "--resume")
    assert wrong.code == 1 and "another chain" in wrong.err
    done = run(tmp_path, *common, "--resume", "--max-iterations", 6)
    assert done.code == 0, done.err
    assert load_model(tmp_path / "model.npz").summary_["iterations"] == 6
    assert not (tmp_path / "model.npz.checkpoint").exists()


def test_word_classes_penalties_and_thresholds_on_the_command_line(tmp_path):
    (tmp_path / "raw.txt").write_text("\n".join(" ".join(s.words) for s in read_corpus(TEST)[:60]))
    options = ["--candidates", "0.01", "--unlabeled", "raw.txt", "--l1", "0.5", "--max-iterations", 8]
    done = run(tmp_path, "train-crf", TRAIN, *options)
    assert done.code == 0, done.err
    model = load_model(tmp_path / "model.npz")
    assert model.order == 1 and model.threshold_ == 0.01 and model.features_.classes is not None
    assert "class" in model.template_


@pytest.mark.parametrize("dev", [[], ["--dev", TEST]], ids=["cross-validation", "dev"])
def test_settings_are_tuned_and_an_adapted_model_keeps_its_chain(tmp_path, dev):
    lines = TRAIN.read_text("utf-8").splitlines()
    (tmp_path / "few.txt").write_text("\n".join(lines[:60]) + "\n")
    dev = [tmp_path / "few.txt" if option == TEST else option for option in dev]
    done = run(tmp_path, "train-crf", "few.txt", "--order", 2, "--tune", *dev, "--max-iterations", 3)
    assert done.code == 0, done.err
    first = load_model(tmp_path / "model.npz")
    assert first.order == 2 and first.threshold_ == 0.001
    done = run(tmp_path, "train-crf", "few.txt", "--init", "model.npz", "--max-iterations", 3, "-o", "next.npz")
    assert done.code == 0, done.err
    adapted = load_model(tmp_path / "next.npz")
    assert adapted.order == 2 and adapted.threshold_ == 0.001
    assert set(first.trigrams_.keys.tolist()) <= set(adapted.trigrams_.keys.tolist())


@pytest.mark.parametrize(
    "options",
    [
        ["--order", "2", "--candidates", "all"],
        ["--order", "3"],
        ["--candidates", "0.5"],
        ["--candidates", "0"],
        ["--candidates", "nan"],
        ["--candidates", "many"],
    ],
    ids=" ".join,
)
def test_options_out_of_range_are_refused_in_one_line(tmp_path, options):
    done = run(tmp_path, "train-crf", TRAIN, *options)
    assert done.code == 2 and options[-2] in done.err and "Traceback" not in done.err
    assert not list(tmp_path.iterdir())


def test_folds_without_any_tag_learn_from_all_sentences():
    untagged = [Sentence(["a", "dog"], ["?", "?"])] * 20
    tagged = [Sentence(["a", "dog"], ["D", "N"]), Sentence(["the", "cats", "nap"], ["D", "N", "V"])]
    model = CRFTagger(candidates=0.01, partial=True, max_iterations=5).fit([*untagged, *tagged])
    assert model.predict([["a", "dog"]]) == [["D", "N"]]


@pytest.mark.parametrize("threshold", ["1e-323", "0", "0.5", "nan", "1e-10"])
def test_thresholds_out_of_range_are_refused(threshold):
    with pytest.raises(TrainingError, match="candidates"):
        CRFTagger(candidates=threshold).fit([["a", "b"]], [["X", "Y"]])


@pytest.mark.parametrize("kind", KINDS)
def test_a_template_of_single_words_is_enough(kind, tmp_path):
    (tmp_path / "words.txt").write_text("word[0]\nlower[-1]\n")
    assert fitted(kind, features=str(tmp_path / "words.txt")).predict([["the", "old", "bark", "barks"]])


def test_scorings_of_a_dev_set_share_one_scorer_of_the_hmm(monkeypatch):
    """Its cache of words outlives the weights of the CRF; a change of the HMM ends it."""
    built = []
    build = hmm_tagger.second_order_scorer
    monkeypatch.setattr(hmm_tagger, "second_order_scorer", lambda *given: built.append(1) or build(*given))
    folds = CRFTagger(order=2, max_iterations=1).fit(CORPUS)
    cross_fitted = len(built)
    model = CRFTagger(order=2, max_iterations=20, patience=100).fit(CORPUS, X_dev=CORPUS[:4])
    model.predict(TEXT)
    assert len(built) == 2 * cross_fitted + 1
    assert folds.predict(TEXT) and len(built) == 2 * cross_fitted + 2
    model.proposer_.rare_count = 5
    model.start_ = model.start_  # drops the scorers of the CRF
    assert model.predict(TEXT) and len(built) == 2 * cross_fitted + 3
