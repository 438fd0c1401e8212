"""``sar_single.check``: runs a user's program on a small graph, in one partition and in three, and compares step by step."""
