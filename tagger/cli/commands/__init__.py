"""The commands of `tagger`, one file each.

The file of a command defines `command` and is imported when the command runs, so that `tagger tag` loads nothing that
only training needs. A command parses its options, calls the packages below and prints; what several commands share is
in the modules of `tagger.cli`. To add one: write a file here and name it in `tagger.cli.COMMANDS`.
"""
