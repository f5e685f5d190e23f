"""Runs of recipes in this process, ranks of a run, and the verbs of the command line that are written in Python."""
