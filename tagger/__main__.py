"""`python -m tagger`."""

from tagger.cli import main

main()
