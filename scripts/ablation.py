"""What each group of features of the default template brings: accuracy, training time, model size.

    python scripts/ablation.py $CORPORA/english-ewt-xpos $CORPORA/japanese-gsd-upos

Each folder holds train.txt and dev.txt. A group is what stands under one comment of the template. Every row is a
training without that group, on all cores, as a difference from the first, which is the whole template.
"""

from __future__ import annotations

import sys
import tempfile
import time
from itertools import chain
from pathlib import Path

import click

from tagger import CRFTagger, evaluate, read_corpus, save_model
from tagger.features.template import template_text


def groups(text: str) -> dict[str, list[str]]:
    """{comment: the lines under it}; comments above an empty line belong to the whole."""
    found: dict[str, list[str]] = {}
    for block in text.strip().split("\n\n"):
        first, *lines = block.split("\n")
        if lines:
            found[first.removeprefix("# ")] = lines
    return found


def train(folder: Path, lines: list[str], threads: int) -> tuple[float, float, float, float]:
    """Accuracy on dev, of all words and of unknown ones, in percent; seconds; MB."""
    sentences, dev = (read_corpus(folder / f"{name}.txt") for name in ("train", "dev"))
    with tempfile.TemporaryDirectory() as temporary:
        template, model_file = Path(temporary, "template.txt"), Path(temporary, "model.npz")
        template.write_text("\n".join(lines), "utf-8")
        begin = time.perf_counter()
        model = CRFTagger(features=str(template), threads=threads).fit(sentences)
        seconds = time.perf_counter() - begin
        save_model(model, model_file)
        scores = evaluate(dev, model.predict(dev), model.lexicon_)
        unknown = scores.unknown_accuracy
        return 100 * (scores.accuracy or 0), 100 * (unknown or 0), seconds, model_file.stat().st_size / 1e6


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--features", default="default", show_default=True, help="The template to take apart.")
@click.option("--threads", default=0, help="[default: all cores]")
def main(folders: tuple[Path, ...], features: str, threads: int) -> None:
    parts = groups(template_text(features))
    for folder in folders:
        click.echo(f"\n{folder.name}\n\n| without | accuracy | unknown words | training s | model MB |")
        click.echo("|---|---:|---:|---:|---:|")
        whole = train(folder, [*chain.from_iterable(parts.values())], threads)
        click.echo("| nothing: all features | {:.2f} | {:.2f} | {:.0f} | {:.1f} |".format(*whole))
        for name in parts:
            rest = train(folder, [line for other in parts if other != name for line in parts[other]], threads)
            difference = [b - a for a, b in zip(whole, rest, strict=True)]
            click.echo("| {} | {:+.2f} | {:+.2f} | {:+.0f} | {:+.1f} |".format(name, *difference))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
