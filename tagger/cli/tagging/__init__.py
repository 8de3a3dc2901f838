"""The outputs of `tag` that are more than one text: `folder` for many files and parts of them, `tables` for
tables, `tools` for annotation tools.

The idea: a job (`tagger.tagging.text_job`, `tagger.integrations.arrow`) tags one file; here it is applied to many.
"""
