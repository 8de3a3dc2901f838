"""Features of a CRF: from words to feature ids.

Read in this order:

- `functions`: the feature functions (`word`, `suffix:3`, `shape`, …), registered by name;
- `syntax`: one line of a template, parsed and checked; `patterns`: the regular expressions that are allowed in it;
- `template`: templates as text, one feature per line; shipped ones in `templates/`;
- `foreign`: templates of CRF++ and Wapiti;
- `phrases`: lists of words and phrases;
- `observer`: what templates look at: words, columns, places in lists; `token_values`: numbers and dicts of features;
- `keys`, `valued`: what identifies a feature, without and with a value;
- `encoder`: all features of a corpus as ids, learned once, looked up for new text;
- `tag_parts`: features shared by tags with a common part (NNG in NNG+JKB);
- `parameter_index`: the parameter of a feature with a tag;
- `word_classes`: classes of words from raw text as features;
- `clustering`: learn such classes.

The idea: most features depend on one word at a fixed offset, so they are encoded per distinct word.
"""
