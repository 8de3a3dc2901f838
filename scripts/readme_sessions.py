"""Run the sessions of README.md again and write down what they print now: python scripts/readme_sessions.py"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def main() -> None:
    text = README.read_text("utf-8")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "data").symlink_to(README.parent / "data")

        def again(session: re.Match[str]) -> str:
            out = []
            for part in re.split(r"^\$ ", session[1], flags=re.M)[1:]:
                command = part.split("\n", 1)[0]
                run = ["bash", "-o", "pipefail", "-c", command]
                done = subprocess.run(run, cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True)
                if done.returncode:
                    sys.exit(f"{command}\n{done.stderr}")
                out.append(f"$ {command}\n{done.stdout}")
            return "```console\n" + "".join(out) + "```"

        text = re.sub(r"^```console\n(.*?)^```$", again, text, flags=re.M | re.S)
    README.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
