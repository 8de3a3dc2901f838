"""Label Studio: a list of tasks, each with `data`, `annotations` of one or several people, and `predictions`.

The names of the project's tags, `from_name` and `to_name`, are kept where a task has them; new tasks get `label` and
`text`, as Label Studio's own templates do.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tagger.corpus.annotation.labeled_text import LabeledText
from tagger.corpus.annotation.records import PROJECT, checked_label, keys_of, objects_of, other_keys, text_of
from tagger.errors import CorpusError
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.files.writing import open_output

NAMES = {"from_name": "label", "to_name": "text", "type": "labels"}


def read(path: str, encoding: str) -> list[LabeledText]:
    """Read the annotations of all tasks; cancelled ones are left out, and so are tasks that nobody has annotated."""
    lines = Lines(path, encoding)
    try:
        tasks = json.loads("\n".join(lines))
    except (ValueError, RecursionError):
        tasks = None
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise CorpusError(f"{lines.name}: expected a JSON list of tasks, as Label Studio exports it, got other data.")
    texts, names = [], NAMES
    for number, task in enumerate(tasks, 1):
        place = f"{lines.name}: task {number:,}"
        data = task.get("data")
        text = text_of(data if isinstance(data, dict) else {}, "text", place)
        given = [each for each in objects_of(task, "annotations", place) if not each.get("was_cancelled")]
        found = [labeled_results(annotation, place) for annotation in given]
        names = next((names_of(result) for results in found for result in results), names)
        source = other_keys({**task, PROJECT: names}, "annotations", "predictions")
        for results in found:
            labels = tuple(read_label(result["value"], text, place) for result in results)
            texts.append(LabeledText(text, labels, source, key=f"task {number}" if len(given) > 1 else ""))
    return texts


def labeled_results(annotation: dict[str, Any], place: str) -> list[dict[str, Any]]:
    """Return the results of an annotation that label a stretch; relations and choices do not."""
    results = objects_of(annotation, "result", place)
    for result in results:
        if not isinstance(result.get("value", {}), dict):
            got = quote(json.dumps(result["value"]))
            raise CorpusError(f"{place}: expected an object under the key 'value', got {got}.")
    return [result for result in results if "labels" in result.get("value", {})]


def names_of(result: dict[str, Any]) -> dict[str, Any]:
    """Return the names of the project's tags that a result has."""
    return {key: result.get(key, default) for key, default in NAMES.items()}


def read_label(value: dict[str, Any], text: str, place: str) -> Any:
    """Read the label of a result."""
    names = value["labels"]
    if not isinstance(names, list) or len(names) != 1:
        raise CorpusError(f"{place}: expected one label for each stretch, got {quote(json.dumps(names))}.")
    return checked_label(value.get("start"), value.get("end"), names[0], text, place)


def write(path: str, texts: Sequence[LabeledText], suggested: bool) -> None:
    """Write the list of tasks; suggestions are predictions, anything else is an annotation."""
    tasks = []
    for text in texts:
        task = keys_of(text)
        data = {**(task.get("data") or {}), "text": text.text}
        tasks.append({**task, "data": data, "predictions" if suggested else "annotations": [{"result": results(text)}]})
    with open_output(path) as stream:
        stream.write(json.dumps(tasks, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace") + b"\n")


def results(text: LabeledText) -> list[dict[str, Any]]:
    """Return the labels of a text as results."""
    names = json.loads(text.source).get(PROJECT, NAMES)
    return [
        {"id": f"label-{i}", **names, "value": {"start": b, "end": e, "text": text.text[b:e], "labels": [name]}}
        for i, (b, e, name) in enumerate(text.labels, 1)
    ]
