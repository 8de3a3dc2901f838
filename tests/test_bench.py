"""Both sides of the comparison get exactly the same features."""

import re
import sys
from itertools import chain
from pathlib import Path

from paths import TRAIN

from tagger import CRFTagger, read_corpus, write_corpus
from tagger.features.template import describe, parse_templates, template_text

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))
import bench
import rival_crfsuite


def as_the_rival_writes_it(feature):
    name, _, value = feature.partition("=")
    function, offset = re.fullmatch(r"([a-z:0-9]+)\[(-?\d+)\]", name).groups()
    function = function.replace(":3", "") if function.startswith("ending") else function.replace(":", "")
    value = {"<before>": "<s>", "<after>": "</s>"}.get(value, value)
    return function + (f"{int(offset):+d}" if offset != "0" else "") + (f"={value}" if value else "")


def test_the_rivals_features_are_those_of_the_comparison_template():
    templates = parse_templates(template_text("comparison"))
    for text in ("The 3 well-known dogs of St. Ives sleep .", "Stop !", "Ja", "É 1/2 - ÀB c", "在 北京 工作 了 。"):
        words = text.split()
        ours = [sorted(map(as_the_rival_writes_it, row)) for row in describe(words, templates)]
        assert ours == [sorted(row) for row in rival_crfsuite.features(words)]


def test_the_rivals_features_of_other_templates_are_those_that_are_learned(tmp_path):
    """CRFsuite has one parameter for each feature and tag seen together; so have we, on sentences made for both."""
    write_corpus(tmp_path / "some.txt", read_corpus(TRAIN)[:200], "slash")
    train = read_corpus(bench.shared_corpus(tmp_path / "some.txt", tmp_path))
    rows = rival_crfsuite.described([sentence.words for sentence in train], "default")
    tags = [tag for sentence in train for tag in sentence.tags]
    pairs = {(feature, tag) for row, tag in zip(chain.from_iterable(rows), tags, strict=True) for feature in row}
    corpus, _ = CRFTagger().encode(train)
    assert len(pairs) == len(corpus.features.rows.tags)
    assert corpus.lengths.tolist() == list(map(len, train))  # nothing more is cut
