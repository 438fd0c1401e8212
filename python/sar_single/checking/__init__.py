"""``sar_single.check``: a program of the user's on a small graph, in one partition and in three, compared step by step."""
