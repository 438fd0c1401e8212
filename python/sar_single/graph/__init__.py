"""A rank's graph: messages along its edges, their gradients, and random draws."""
