#!/usr/bin/env bash
# Smoke test: builds the wheel, installs it into an empty environment with its runtime dependencies only, then trains,
# tags and evaluates.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
mkdir "$folder/source"
cp -r pyproject.toml README.md LICENSE tagger "$folder/source"  # a copy, since building leaves files behind
"$folder/venv/bin/python" -m pip wheel --quiet --no-deps --wheel-dir "$folder" "$folder/source"
ls "$folder"/hmm_crf_tagger-*-py3-none-any.whl
"$folder/venv/bin/python" -m pip install --quiet "$folder"/hmm_crf_tagger-*.whl
data=$PWD/data
cd "$folder"
test "$(echo 'It works.' | venv/bin/tagger tag -m english --tokenize)" = 'It/PRP works/VBZ ./.'
for command in train train-hmm train-crf; do
  venv/bin/tagger "$command" -q "$data/english-train.txt"
  test "$(echo 'Her book is like that .' | venv/bin/tagger tag)" = 'Her/PRP$ book/NN is/VBZ like/IN that/DT ./.'
  venv/bin/python -m tagger eval "$data/english-test.txt" | head -n 3
done
# Without an extra: a message that names it, and no output file.
(venv/bin/tagger eval "$data/english-test.txt" --report page.html 2>&1 || true) | grep -F 'hmm-crf-tagger[report]'
test ! -e page.html
(venv/bin/tagger train-bilstm "$data/english-train.txt" -o neural.npz 2>&1 || true) | grep -F 'hmm-crf-tagger[neural]'
test ! -e neural.npz
venv/bin/tagger --version
