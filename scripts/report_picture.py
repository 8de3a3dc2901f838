"""Make docs/report.png, the README's picture of a report, from the corpora in data/; needs a Chromium and chromedriver.

python scripts/report_picture.py
"""

import base64
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from browser import chromium, installed  # noqa: E402

WIDTH = 1160

if not all(installed()):
    sys.exit("expected chromium and chromedriver on PATH")
with tempfile.TemporaryDirectory() as folder:
    for arguments in (["train-crf", "-q", "english-train.txt"], ["eval", "-q", "english-test.txt"]):
        command, *options, corpus = arguments
        more = ["--report", f"{folder}/report.html"] if command == "eval" else []
        call = [sys.executable, "-m", "tagger", command, *options, str(ROOT / "data" / corpus), *more]
        subprocess.run(call, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    with chromium(f"{folder}/profile", WIDTH) as browser:
        browser.get(Path(folder, "report.html").as_uri())
        end = browser.execute_script("return document.querySelector('.heat').getBoundingClientRect().bottom")
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": end + 16, "scale": 0.75}
        found = browser.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
picture = base64.b64decode(found["data"])
(ROOT / "docs" / "report.png").write_bytes(picture)
print(f"docs/report.png: {len(picture):,} bytes")
