"""Runs recipes in this process, runs one rank of a run, and implements the command line's verbs written in Python.
"""
