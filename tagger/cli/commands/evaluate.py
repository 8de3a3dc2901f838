"""`tagger eval`."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any

import click

from tagger.cli.console import (
    length_warnings,
    name_of,
    page_for,
    read_tagged,
    say,
    say_unmapped,
    tag_map_of,
    write_text,
)
from tagger.cli.options import (
    encoding_option,
    examples,
    given,
    input_format_option,
    map_option,
    models_option,
    on_error_option,
    output_option,
    quiet_option,
    report_option,
)
from tagger.cli.paths import INPUT, TEXT, FileCommand
from tagger.corpus.conllu import COLUMNS
from tagger.corpus.tag_map import TagMap
from tagger.errors import CorpusError, several
from tagger.escaping import quote
from tagger.evaluation.metrics import Comparison, compare, evaluate
from tagger.models.base import Predictor
from tagger.models.store import load_model, load_models
from tagger.reports.evaluation import EvaluationRun, evaluation_page
from tagger.reports.text import as_json, as_table, in_words
from tagger.sentence import ANY, Sentence, open_tokens
from tagger.words.overlap import MIN_WORDS, overlap

Tags = list[list[str]]

SHOWN = 3  # tags, as examples
OTHER_TAGS = "Is one side UPOS, the other XPOS? --column reads the other column of CoNLL-U, --map FILE renames tags."


@click.command(
    "eval",
    cls=FileCommand,
    short_help="Judge a model, or tags from anywhere, by a corpus.",
    epilog=examples(
        "tagger eval gold.txt",
        "tagger eval gold.txt -m english.npz --json",
        "tagger eval gold.txt -m crf.npz --compare hmm.npz",
        "tagger eval gold.txt --report report.html",
        "tagger eval gold.txt --predictions tagged-by-somebody-else.txt",
        "tagger eval gold-upos.txt -m penn.npz --map penn-upos.tsv",
        "tagger eval gold.txt -m crf.npz -m bilstm.npz",
    ),
)
@click.argument("gold", type=TEXT)
@models_option
@click.option("--predictions", metavar="FILE", type=INPUT, help="Judge these tags instead of a model's.")
@click.option(
    "--compare", "others", type=INPUT, metavar="MODEL", multiple=True, help="Is the model better than this one?"
)
@report_option
@input_format_option
@encoding_option
@on_error_option
@click.option(
    "--column",
    type=click.Choice(list(COLUMNS)),
    help="The tags to read from CoNLL-U.  [default: the model's, else upos]",
)
@map_option
@click.option("--json", "as_program", is_flag=True, help="For programs: rates are fractions, undefined is null.")
@output_option
@quiet_option
def command(
    gold: str,
    model_paths: tuple[str, ...],
    predictions: str | None,
    others: tuple[str, ...],
    report: str | None,
    input_format: str | None,
    encoding: str,
    column: str | None,
    map_path: str | None,
    as_program: bool,
    output: str,
    quiet: bool,
) -> None:
    """Judge a model, or tags from anywhere, by a corpus with the right tags.

    GOLD may be - for standard input. With --predictions no model is needed; -m then only tells which words are known.
    --map renames tags on all sides before they are compared; so a map from Penn to universal tags serves for GOLD with
    either.
    """
    template = page_for(report, "evaluation.html")
    tag_map = tag_map_of(map_path)
    model = load_models(model_paths) if not predictions or given("model_paths") else None
    rival_models = {path: load_model(path) for path in others}
    column = column or (model.column_ if model else "upos")
    sentences = read_tagged(gold, input_format, encoding, column)
    begin = time.perf_counter()
    if predictions:
        guesses = aligned(sentences, read_tagged(predictions, None, encoding, column), gold, predictions)
    else:
        guesses = model.predict(sentences) if model else []
    speed = None if predictions else sum(map(len, sentences)) / (time.perf_counter() - begin)
    rivals = {path: rival.predict(sentences) for path, rival in rival_models.items()}
    words = [sentence.words for sentence in sentences]
    seen = overlap(words, model.seen_, model.lexicon_.form) if model else None
    by_others = {path: overlap(words, rival.seen_, rival.lexicon_.form) for path, rival in rival_models.items()}
    remarks = warnings(gold, sentences, {together(model_paths): seen or 0} | by_others)
    sentences, guesses, rivals = renamed(sentences, guesses, rivals, tag_map)
    say_unmapped(tag_map, quiet)
    lexicon, names = model.lexicon_ if model else None, tag_names(model, tag_map)
    judged = predictions or together(model_paths)
    tag_sets = {judged: None if predictions else names}
    tag_sets |= {path: tag_names(rival, tag_map) for path, rival in rival_models.items()}
    remarks += foreign_tags(gold, sentences, {judged: guesses} | rivals, tag_sets)
    for remark in remarks:
        say(remark, quiet)
    found = evaluate(sentences, guesses, lexicon, names)
    comparisons = {path: compare(sentences, guesses, tags) for path, tags in rivals.items()}
    told = [in_words(comparison, judged, path) for path, comparison in comparisons.items()]
    if report:
        whose = together([name_of(path) for path in ([predictions] if predictions else model_paths)])
        title = f"{whose} judged by {name_of(gold)}"
        guesser = None if predictions else model
        case = EvaluationRun(title, sentences, guesses, found, guesser, lexicon, names or [], speed, remarks + told)
        write_text(report, evaluation_page(template, case))
    if as_program:
        more = {"training_overlap": seen, "tokens_per_second": speed, "compare": for_programs(comparisons)}
        write_text(output, json.dumps(as_json(found) | more, ensure_ascii=False, indent=2) + "\n")
    else:
        write_text(output, as_table(found, sentences, speed) + "".join(f"\n{line}\n" for line in told))


def warnings(gold: str, sentences: list[Sentence], seen: dict[str, int]) -> list[str]:
    """One for each model that has seen so many of the answers, and one if answers are missing."""
    counted = sum(len(sentence) >= MIN_WORDS for sentence in sentences)
    told = f"of the {counted:,} sentences of {gold} with at least {MIN_WORDS} words were in the training corpus of"
    found = [f"{count:,} {told} {path}" for path, count in seen.items() if count]
    if missing := open_tokens(sentences):
        found.append(f"the tag {ANY!r} of {several(missing, 'word')} in {gold}: no other counts as right there")
    return [*(f"warning: {remark}" for remark in found), *length_warnings(sentences, gold)]


def foreign_tags(
    gold: str, sentences: list[Sentence], guesses: dict[str, Tags], tag_sets: dict[str, Iterable[str] | None]
) -> list[str]:
    """A warning for each side that seems to have another tag set than the gold corpus: most tokens of one have tags
    that the other lacks. The tag set of `--predictions` is unknown: what it never guesses proves nothing."""
    right = Counter(chain.from_iterable(sentence.tags or () for sentence in sentences))
    found = []
    for name, tags in guesses.items():
        guessed, own = Counter(chain.from_iterable(tags)), tag_sets[name]
        faults = [] if own is None else lacking(right, gold, set(own), name)
        faults += lacking(guessed, name, set(right), gold)
        if faults:
            found.append(f"warning: the scores mean little: {' and '.join(faults)}. {OTHER_TAGS}")
    return found


def lacking(tags: Counter[str], whose: str, others: set[str], other: str) -> list[str]:
    """What to say if most tags of one side are none of the other's."""
    missing = Counter({tag: count for tag, count in tags.items() if tag not in others})
    if 2 * missing.total() <= tags.total():
        return []
    shown = ", ".join(tag for tag, _ in missing.most_common(SHOWN))
    return [f"{missing.total():,} of {tags.total():,} tokens have tags in {whose} that {other} lacks ({shown})"]


def for_programs(comparisons: dict[str, Comparison]) -> list[dict[str, Any]]:
    return [{"model": path, **asdict(comparison)} for path, comparison in comparisons.items()]


def together(names: Sequence[str]) -> str:
    return " and ".join(names)


def aligned(gold: list[Sentence], guessed: list[Sentence], gold_name: str, guessed_name: str) -> Tags:
    """The tags of the predictions, if their words are those of the gold corpus."""
    for number, (right, found) in enumerate(zip(gold, guessed, strict=False), 1):
        for place, (a, b) in enumerate(zip(right.words, found.words, strict=False), 1):
            if a != b:
                raise differ(f"sentence {number}, token {place}", quote(a), quote(b), gold_name, guessed_name)
        if len(right) != len(found):
            raise differ(f"sentence {number}", several(len(right), "token"), f"{len(found):,}", gold_name, guessed_name)
    if len(gold) != len(guessed):
        raise differ("the end", several(len(gold), "sentence"), f"{len(guessed):,}", gold_name, guessed_name)
    return [list(sentence.tags or ()) for sentence in guessed]


def differ(place: str, a: str, b: str, gold_name: str, guessed_name: str) -> CorpusError:
    return CorpusError(f"{guessed_name}: {place}: expected {a} as in {gold_name}, got {b}")


def renamed(
    sentences: list[Sentence], guesses: Tags, rivals: dict[str, Tags], tag_map: TagMap | None
) -> tuple[list[Sentence], Tags, dict[str, Tags]]:
    if tag_map is None:
        return sentences, guesses, rivals

    def all_tags(tags: Tags) -> Tags:
        return [tag_map.tags(own) for own in tags]

    mapped = [tag_map.sentence(sentence) for sentence in sentences]
    return mapped, all_tags(guesses), {path: all_tags(tags) for path, tags in rivals.items()}


def tag_names(model: Predictor | None, tag_map: TagMap | None) -> Any:
    """What could be guessed, under the names of the map."""
    if model is None:
        return None
    return tag_map.tags(model.classes_) if tag_map else model.classes_
