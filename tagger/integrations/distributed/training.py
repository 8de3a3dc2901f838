"""`fit`: train an HMM, a CRF or a pool of them on files that are never in one process as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import numpy as np

from tagger.corpus.column_names import ColumnNames
from tagger.corpus.final_marks import choose_marks
from tagger.corpus.labels import dev_sentences
from tagger.corpus.partial import Choices
from tagger.corpus.span_schemes import allowed_steps
from tagger.crf.encode import CorpusPlan, Encoding, choose_template, threshold_of
from tagger.crf.parameters import EncodedCorpus, ParameterLayout
from tagger.crf.settings import check_dev_set, check_settings, features_name, training_fingerprints
from tagger.crf.tagger import CRFTagger
from tagger.crf.trainer import Trainer, learn_weights
from tagger.errors import TemplateError, TrainingError
from tagger.features.phrases import read_lists
from tagger.features.tag_parts import TagParts, separator_of
from tagger.features.template import column_names, list_names, parse_templates, template_text, valued_sources
from tagger.features.word_classes import WordClasses
from tagger.hmm.tagger import HMMTagger
from tagger.integrations.distributed.candidates import add_candidates
from tagger.integrations.distributed.counting import (
    ShardWords,
    Survey,
    joined_features,
    least_count,
    merge_counts,
    scheme_of_steps,
)
from tagger.integrations.distributed.hmm import ShardedText, check_hmm, learn_hmm
from tagger.integrations.distributed.objective import ShardedCorpus, ShardedTrainer
from tagger.integrations.distributed.placement import ShardWorkers, Shared
from tagger.integrations.distributed.pooled import ShardedPooledTrainer
from tagger.integrations.distributed.shard_cache import forget
from tagger.integrations.distributed.shards import ReadOptions, cut
from tagger.integrations.distributed.worker import Job, Numbering, Plan, count_template, count_words, survey
from tagger.models.checkpoint import Checkpoint, fingerprint
from tagger.models.monitor import ProgressCallback
from tagger.normalization import NFC
from tagger.pooled.tagger import PooledTagger
from tagger.sentence import Sentence
from tagger.words.windows import MARKS, Windows

if TYPE_CHECKING:
    from distributed import Client

Model = TypeVar("Model", HMMTagger, CRFTagger)


def fit(
    client: Client,
    model: Model,
    files: Sequence[str],
    X_dev: Iterable[Any] | None = None,
    y_dev: Iterable[Any] | None = None,
    *,
    format: str | None = None,
    encoding: str = "utf-8",
    columns: ColumnNames | None = None,
    watch: ProgressCallback = lambda progress: None,
    checkpoint: Checkpoint | None = None,
    classes: WordClasses | None = None,
    lexicon: Mapping[str, Sequence[str]] | None = None,
    on_disk: bool = False,
) -> Model:
    """Train an HMM, a CRF or a pool of them on files that the workers of a cluster read, each its own.

    The model is that of `fit` on the same sentences, up to rounding, and has the same bytes for any number of workers;
    an HMM has the very bytes of an ordinary training. A worker that dies is replaced by others, which read its files
    again.

    Parameters
    ----------
    client : distributed.Client
        Connection to the cluster.
    model : HMMTagger, CRFTagger or PooledTagger
        An untrained model, which is trained in place.
    files : sequence of str
        Tagged corpora. All workers must find them under these names.
    X_dev, y_dev : iterables, optional
        A dev set, as in `CRFTagger.fit`; it is scored here.
    format, encoding : str
        As in `read_corpus`.
    columns : ColumnNames, optional
        Names of the columns of the files.
    watch, checkpoint, classes
        As in `CRFTagger.fit`; an HMM has no use for the first two.
    lexicon : mapping of str to tags, optional
        As in `HMMTagger.fit`, for an HMM only.
    on_disk : bool
        Keep shards in files of the workers, for corpora that do not fit their memory.

    Returns
    -------
    HMMTagger, CRFTagger or PooledTagger
        The model itself.
    """
    options = ReadOptions(format, encoding, columns or ColumnNames())
    dev = dev_sentences(X_dev, y_dev)
    if isinstance(model, HMMTagger):
        check_hmm(model, bool(lexicon), classes is not None)
        with training(client, files, options, on_disk) as (workers, job):
            learn_hmm(model, ShardedText(workers, job), lexicon, classes)
        return model
    if lexicon:
        raise TrainingError("lexicon: expected an HMM to train with it, got a CRF. Leave it out.")
    check_settings(model)
    check_supported(model)
    if isinstance(model, PooledTagger):
        model.check_candidates(None)
        model.network_, model.members_ = None, []
    if not options.columns.wanted:
        wanted = template_columns(model, options.columns)
        options = replace(options, columns=replace(options.columns, wanted=wanted))
    with training(client, files, options, on_disk) as (workers, job):
        learn_crf(model, workers, job, dev, watch, checkpoint, classes)
    return model


def learn_crf(
    model: CRFTagger,
    workers: ShardWorkers,
    job: Job,
    dev: list[Sentence] | None,
    watch: ProgressCallback,
    checkpoint: Checkpoint | None,
    classes: WordClasses | None,
) -> None:
    """Learn a CRF from shards."""
    shards, encoding, surveys = encode_shards(workers, job, model, classes)
    corpus, layout = model.keep(encoding)
    check_dev_set(model, dev)
    settings = model.trainer_settings() | {"shards": shards}
    if isinstance(model, PooledTagger):
        trainer: Trainer = ShardedPooledTrainer(corpus, layout, **settings, model=model, corpus_sentences=())
    else:
        trainer = ShardedTrainer(corpus, layout, **settings)
    corpus_print = {"corpus": fingerprint(part.fingerprint for part in surveys)}
    lengths = [part.lengths for part in surveys]
    size = {"sentences": sum(map(len, lengths)), "tokens": int(sum(part.sum() for part in lengths))}

    def prints() -> dict[str, str]:
        return training_fingerprints(model, None, dev, None) | corpus_print

    learn_weights(model, trainer, size, dev, watch, checkpoint, prints)


def template_columns(model: CRFTagger, names: ColumnNames) -> tuple[str, ...]:
    """List the columns that the template of a model looks at."""
    name = features_name(model.features)
    return column_names(parse_templates(template_text(name, names.places() or (None,)), name))


def check_supported(model: CRFTagger) -> None:
    """Refuse settings that need all sentences in one place."""
    if model.order == 0:
        raise TrainingError("order: expected 1 or 2 for a training on shards, got 0")
    if callable(model.features):
        raise TrainingError("features: expected a template for a training on shards, got a function")
    if model.partial:
        raise TrainingError("partial: expected False for a training on shards, got True")


@contextmanager
def training(
    client: Client, files: Sequence[str], options: ReadOptions, on_disk: bool
) -> Iterator[tuple[ShardWorkers, Job]]:
    """Cut files into shards for the workers of a cluster, which forget them in the end."""
    job = Job(uuid4().hex, options, on_disk)
    try:
        yield ShardWorkers(client, cut(files, options)), job
    finally:
        if client.status == "running":
            client.run(forget, job.token, on_error="ignore")


def encode_shards(
    workers: ShardWorkers, job: Job, model: CRFTagger, classes: WordClasses | None
) -> tuple[ShardedCorpus, Encoding, list[Survey]]:
    """Count all that a CRF learns by counting; return the corpus on the workers, and its encoding without sentences."""
    by_shard = {number: found for part in workers.run(survey, job) for number, found in part.items()}
    filled = [number for number in sorted(by_shard) if len(by_shard[number].lengths)]
    surveys = [by_shard[number] for number in filled]
    workers.keep(filled)
    plan = make_plan(model, surveys, classes)
    tag_parts, K = TagParts(plan.tag_set, plan.separator), len(plan.tag_set)
    templates = plan.templates()
    threshold = threshold_of(model, None, K, bool(column_names(templates)))
    marks = choose_marks([part.endings for part in surveys])
    shared = Shared(workers.client, Plan(plan, marks))
    words = ShardWords.merged(workers.run(count_words, job, shared))
    features, counts = count_features(workers, job, shared, plan, words, model, tag_parts)
    seen = np.flatnonzero(words.bigrams)
    layout = global_layout(plan, features, counts, words, seen, tag_parts)
    lengths = [words.lengths[shard.number] for shard in workers.shards]
    shards = ShardedCorpus(workers, job, shared, Shared(workers.client, Numbering(features, seen)), lengths)
    corpus = description(plan, features, tag_parts, np.concatenate(lengths))
    lexicon = words.lexicon
    encoding = Encoding(
        corpus, layout, plan.tag_set, plan.template, lexicon, words.seen, None, None, 0, plan.scheme, plan.lists
    )
    if threshold is not None:
        shards, encoding = add_candidates(shards, encoding, model.order, threshold)
    return shards, encoding, surveys


def make_plan(model: CRFTagger, surveys: Sequence[Survey], classes: WordClasses | None) -> CorpusPlan:
    """Decide on tags, scheme and template."""
    tag_set = sorted(frozenset[str]().union(*(part.tags for part in surveys)))
    if not tag_set:
        raise TrainingError("expected at least one sentence to train on, got an empty corpus")
    steps = frozenset[tuple[str, str]]().union(*(part.steps for part in surveys))
    assert surveys[0].first is not None
    template, classes = choose_template(model, None, classes, surveys[0].first)
    name = features_name(model.features)
    templates = parse_templates(template, name)
    if valued_sources(templates):
        raise TrainingError("features: expected no numbers and dicts for a training on shards, got some")
    lists = read_lists(list_names(templates), name)
    scheme = scheme_of_steps(model.scheme, steps, set(tag_set))
    return CorpusPlan(tag_set, scheme, separator_of(tag_set), template, name, classes, lists, NFC)


def count_features(
    workers: ShardWorkers,
    job: Job,
    plan: Shared,
    decisions: CorpusPlan,
    words: ShardWords,
    model: CRFTagger,
    tag_parts: TagParts,
) -> tuple[Any, np.ndarray]:
    """Count the features of all shards, template by template; return them, and the count of each parameter."""
    templates, radix = decisions.templates(), len(words.strings) + MARKS
    strings, merged = Shared(workers.client, words.strings), []
    for t, template in enumerate(templates):
        if radix ** len(template.conjuncts) >= 2**63:
            count = f"{len(words.strings):,}"
            raise TemplateError(f"{template}: too many functions joined by & for {count} different values")
        counted = workers.run(count_template, job, plan, strings, t)
        merged.append(merge_counts(counted, tag_parts, least_count(template, model.min_count, model.min_pair_count)))
    return joined_features(templates, words.strings, merged, decisions.classes)


def global_layout(
    plan: CorpusPlan, features: Any, counts: np.ndarray, words: ShardWords, seen: np.ndarray, tag_parts: TagParts
) -> ParameterLayout:
    """Lay out the parameters of the corpus."""
    layout = ParameterLayout(description(plan, features, tag_parts, np.empty(0, np.int64)), counts, also_seen=seen)
    layout.counts = np.concatenate([counts, words.bigrams.ravel()[seen], *words.edges])
    return layout


def description(plan: CorpusPlan, features: Any, tag_parts: TagParts, lengths: np.ndarray) -> EncodedCorpus:
    """Describe a corpus whose tokens are elsewhere."""
    none, K = np.empty(0, np.int64), len(plan.tag_set)
    windows, allowed = Windows([], none, none), allowed_steps(plan.scheme, plan.tag_set)
    return EncodedCorpus(features, {}, windows, lengths, none, Choices.none(K), K, tag_parts, allowed=allowed)
