"""Commands of the program as functions: what they take from other libraries, and what they give back."""
