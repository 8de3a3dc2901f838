"""Further members of a pool, such as a BiLSTM: their checks, their terms of a score, their place in the model file.

A member is stored whole, its arrays under names that begin with `member.0.`, its description in that of the pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tagger.arrays.npz import Archive, Arrays
from tagger.errors import ModelError
from tagger.escaping import shortened
from tagger.models.base import Tagger, Terms
from tagger.models.ensemble import only_in
from tagger.models.explain import added
from tagger.models.store import build, description
from tagger.pooled.lattice import ModelOpinion, Opinion
from tagger.sentence import Words

MAX_MEMBERS = 100


def check_members(pool: Tagger, models: Sequence[Tagger], sources: Sequence[str] = ()) -> None:
    """Refuse pools, models with other tags than those of the pool, and `sources` of features besides the words."""
    for number, model in enumerate(models, 1):
        if not isinstance(model, Tagger) or not hasattr(model, "classes_"):
            raise ModelError(f"add: expected fitted taggers, got {shortened(repr(model))}. Call fit first.")
        if model.kind == pool.kind:
            raise ModelError(f"add: expected models of other kinds, got a {pool.kind} one. Average the models instead.")
        if named := [*sources, *model.wanted_columns_]:
            got = f"columns or lists ({', '.join(named)})"
            raise ModelError(f"add: expected features of words only, got {got}. Average the models instead.")
        if model.classes_ != pool.classes_:
            name, of_pool = f"model {number}", "the corpus"
            differ = f"{only_in(pool, model, of_pool)}; {only_in(model, pool, name)}"
            raise ModelError(f"add: expected models with the tags of the corpus, got {differ}. Use one tag set.")


def member_terms(of_chain: Terms, opinions: Sequence[Opinion], words: Words) -> Terms:
    """Add the terms of further members to those of a chain's score (`Tagger.score_terms`)."""
    opinion_terms = {
        f"probability by member {number}, {opinion.name}": opinion.terms(opinion.marginals(words))
        for number, opinion in enumerate(opinions, 3)
    }  # (T, K) each

    def terms(path: Sequence[int], t: int) -> dict[str, float]:
        return added(of_chain(path, t), {name: float(values[t, path[t]]) for name, values in opinion_terms.items()})

    return terms


def prefix(number: int) -> str:
    """Return the beginning of the names of a member's arrays."""
    return f"member.{number}."


def member_arrays(opinions: Sequence[ModelOpinion]) -> Arrays:
    """Return the arrays of all members."""
    arrays: Arrays = {}
    for number, opinion in enumerate(opinions):
        model = opinion.member
        own = {"seen": model.seen_} | model.arrays()
        arrays |= {prefix(number) + name: array for name, array in own.items()}
    return arrays


def member_descriptions(opinions: Sequence[ModelOpinion]) -> list[dict[str, Any]]:
    """Return the descriptions of all members."""
    return [description(opinion.member) for opinion in opinions]


def restore_members(tags: list[str], archive: Archive, sources: Sequence[str] = ()) -> list[Tagger]:
    """Read the members of a pool with these tags and `sources` of features besides the words."""
    described = archive.setting("members", list)
    archive.check(len(described) <= MAX_MEMBERS, f"expected at most {MAX_MEMBERS} members")
    members = []
    for number, meta in enumerate(described):
        part = archive.inside(prefix(number))
        archive.check(isinstance(meta, dict) and meta.get("kind") != "pooled", "expected the descriptions of members")
        part.meta = meta
        member = build(part)
        archive.check(member.classes_ == tags, "expected members with the tags of the pool")
        archive.check(not (sources or member.wanted_columns_), "expected members with features of words only")
        members.append(member)
    return members
