"""`tagger train`: an HMM and CRFs as one model."""

from __future__ import annotations

from typing import Any

import click

from tagger.cli.commands.train_crf import crf_options, train
from tagger.cli.options import file_option
from tagger.cli.paths import INPUT
from tagger.cli.training import training_command
from tagger.models.store import load_model
from tagger.pooled.tagger import PooledTagger


@training_command(
    PooledTagger,
    "tagger train corpus.txt",
    "tagger train train.txt --dev dev.txt -o english.npz",
    "tagger train train.txt --unlabeled raw.txt.gz",
    "tagger train train.txt --add bilstm.npz --dev dev.txt",
    "tagger train train.txt --resume",
    "tagger train medical.txt --init english.npz -o medical.npz",
    "tagger train shards/ --scheduler local:2",
)
@file_option("--add", INPUT, "Trained model that joins the pool, e.g. bilstm.npz. Repeatable.", multiple=True)
@crf_options
def command(add: tuple[str, ...], quiet: bool, **options: Any) -> None:
    """Train an HMM and CRFs on a tagged corpus, and pool them in one model: the most accurate without PyTorch.

    CORPUS may be - for standard input. The closing line names the model and the command to try next. The weights of the
    members are learned on sentences that are left out of a first training; those of models to --add on --dev, and equal
    without it. Ctrl-C saves the best model so far. --candidates all is refused: the HMM proposes the candidates.

    With --scheduler, CORPUS is a file or a folder of files. Workers read it in shards, so that no process has all of
    it; with --max-memory, shards are kept on disk. --tune and --scheduler run the trials on the cluster.
    """
    if options["candidates"] == "all":
        raise click.UsageError("--candidates: expected auto or a number, got all. train-crf trains on all tags.")
    train(PooledTagger, quiet, **options, members={"add": [load_model(path) for path in add]})
