"""Work on a Dask cluster: folds and trials as tasks, training on shards that are never in one process as a whole.

Read in this order:

- `cluster`: connect to a scheduler, or start workers on this machine;
- `executor`: blocks of work as tasks, in order;
- `shards`: the files of a corpus, cut into shards; `shard_cache`: what a worker keeps of its shards;
- `placement`: which worker has which shards, and what happens when one dies;
- `counting`: tags, words and features, counted by shard and merged;
- `worker`: the tasks; `objective`: loss and gradient, summed over the shards;
- `hmm`: HMMs of shards; `candidates`: what they propose for a CRF; `pooled`: both as one model;
- `training`: `fit`; `classes`: word classes from raw text; `tagging`: `tag`.

Dask belongs to the extra `dask` and is imported by functions only.

The idea: a shard is fixed by the data, every sum over shards is exact, and whatever a worker holds can be made again
from the files. So the model has the same bytes for any number of workers, and a worker may die.
"""

from __future__ import annotations

from typing import Any

__all__ = ["connect", "fit", "learn_classes", "tag"]
MODULES = {"connect": "cluster", "fit": "training", "learn_classes": "classes", "tag": "tagging"}


def __getattr__(name: str) -> Any:
    """Import a function when it is asked for."""
    from importlib import import_module

    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
