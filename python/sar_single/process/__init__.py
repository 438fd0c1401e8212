"""The process of a worker: the rank that it is, modules and threads that it inherits, places in the program of the user."""
