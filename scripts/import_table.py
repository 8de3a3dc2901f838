"""Print the table of modules for CONTRIBUTING.md, in the order it has there, new modules last.

python scripts/import_table.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import ast

from test_imports import CODE, imports, table

order = [name for name in table() if name in CODE]
order += sorted(CODE.keys() - set(order))
print("| module | one sentence | imports |\n|---|---|---|")
for name in order:
    sentence = (ast.get_docstring(CODE[name]) or "").split("\n\n")[0].replace("\n", " ")
    found = " ".join(f"`{other}`" for other in sorted(imports(CODE[name]), key=order.index))
    print(f"| `{name}` | {sentence} | {found or '–'} |")
