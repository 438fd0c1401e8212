"""A worker, the process of one rank: how it is started, and what it gives to the program of the user."""
