"""Numbers of a seed."""

import random


class Draw(random.Random):
    """Choices that a seed makes."""

    def chance(self, probability):
        return self.random() < probability

    def one(self, *options):
        return self.choice(options)

    def some(self, options):
        """A part of the options, in a new order."""
        return self.sample(options, self.randint(0, len(options)))
