"""A partitioned graph on files, and the tables of its nodes and edges."""
