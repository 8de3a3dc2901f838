"""The notebook in docs/ runs, and its outputs are what it promises; scores as a data frame."""

import pytest
from paths import DATA, ROOT

from tagger import Sentence, evaluate


def test_the_notebook_runs(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    (tmp_path / "data").symlink_to(DATA)
    notebook = nbformat.read(ROOT / "docs" / "notebook.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    html = [output.data.get("text/html", "") for cell in cells for output in cell.outputs if "data" in output]
    assert len(html) >= 4 and any("<svg" in text for text in html)
    assert not any(cell.get("outputs") for cell in nbformat.read(ROOT / "docs" / "notebook.ipynb", as_version=4).cells)


def test_scores_as_a_frame():
    pytest.importorskip("pandas")
    frame = evaluate([Sentence(["a", "b"], ["X", "Y"])], [["X", "X"]]).to_frame()
    assert list(frame.columns) == ["precision", "recall", "f1", "support"]
    assert frame.loc["X", "precision"] == 0.5 and frame.loc["Y", "support"] == 1
