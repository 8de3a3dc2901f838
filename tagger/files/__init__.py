"""Files in and out: reading, writing, recognising binary input, memory and signals."""
