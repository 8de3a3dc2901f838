"""The weights of features by their text: for tests that compute the scores of a CRF from its definition."""

import numpy as np


def weight_table(features, w):
    """{(feature as text, column): weight}, by looking every feature up through its template and key."""
    texts = [*features.strings.strings(), "<before>", "<after>"]
    table = {}
    for t, template in enumerate(features.templates):
        for n, key in enumerate(features.keys[t].tolist()):
            ids = []
            for _ in template.conjuncts:
                key, last = divmod(key, features.radix)
                ids.append(last)
            values = [texts[i] for i in reversed(ids)]
            name = " & ".join(f"{p}={v}" if v else f"{p}" for p, v in zip(template.conjuncts, values, strict=True))
            row = int(features.bases[t]) + n
            entries, _ = features.rows.entries(np.array([row]))
            table.update({(name, int(features.rows.tags[e])): w[e] for e in entries})
    return table
