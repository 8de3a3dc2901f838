#!/usr/bin/env bash
# The demonstration of `make demo`: tags with the model that is shipped, trains models on the corpora in data/, evaluates
# them, tags the sentences of the README, and prints the commands to try next.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '# the English model that is shipped\n'
echo "She didn't book the flight. Why not?" | tagger tag -m english --tokenize
for language in english chinese; do
  printf '\n# %s, HMM and CRFs as one model\n' "$language"
  tagger train "data/$language-train.txt" -o "$folder/$language.npz"
  tagger eval "data/$language-test.txt" -m "$folder/$language.npz"
  for kind in hmm crf; do
    model="$folder/$language-$kind.npz"
    printf '\n# %s, %s\n' "$language" "$kind"
    tagger "train-$kind" "data/$language-train.txt" -o "$model"
    tagger eval "data/$language-test.txt" -m "$model"
  done
done
for kind in hmm crf; do
  printf '\n# tagged by the %s\n' "$kind"
  tagger tag -m "$folder/english-$kind.npz" <<'TEXT'
The big question is whether the president will have the strength .
I 'd like to book that flight and/or a train .
TEXT
  tagger tag -m "$folder/chinese-$kind.npz" <<'TEXT'
她 在 图书馆 工作 了 三 年 。
我 爱 北京 天安门
TEXT
done
cat <<TEXT

# next steps
. ${VENV:-.venv}/bin/activate                                      # makes the command tagger available in this terminal
mkdir -p ~/tagging && cp -r data ~/tagging && cd ~/tagging   # a folder to work in
tagger train data/english-train.txt                       # writes model.npz
echo "It's a start." | tagger tag --tokenize
Continue with docs/tutorial.md.
TEXT
