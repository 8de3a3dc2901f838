"""One sentence at a time: what the HMM needs for it.

- `scores`: transitions and emissions for the recursions on lists (`chain.single`);
- `spelling`: the guesses for few unknown words, all levels of all spelling models together.
"""
