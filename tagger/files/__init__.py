"""Files in and out, and what the operating system says about memory, cores and signals.

Read in this order:

- `reading`: open any input (plain, compressed, encoded, stdin) and iterate over its lines with their places;
- `sniffing`: recognise binary files and text in another encoding by their first bytes;
- `zstd`: the compression of `.zst`, by the standard library or the package `zstandard`;
- `remote`: paths with a scheme, such as `s3://bucket/corpus.txt`, through fsspec;
- `writing`: write a file completely or not at all, compressed as its name says;
- `resources`: memory and cores available to this process;
- `signals`: the signals that end a program, and how to delay them.

The idea: a reader keeps the place (`name:line`) so that every error above can state it, and a writer renames a finished
temporary file so that nothing half-written ever has the final name.
"""
