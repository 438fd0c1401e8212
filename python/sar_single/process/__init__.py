"""The process of a worker: the rank that it is, modules that change when they are imported, lines of the user's program."""
