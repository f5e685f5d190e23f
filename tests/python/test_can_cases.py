"""Each case from a public bug report has one test (can_cases.py says how to add it)."""

import collections

import test_can_cases_binary
import test_can_cases_dbc
import test_can_cases_text


def test_each_folder_is_in_one_table(can_cases):
    tables = [module.CASES for module in (test_can_cases_binary, test_can_cases_dbc, test_can_cases_text)]
    listed = collections.Counter(name for table in tables for name in table)
    assert listed == collections.Counter(folder.name for folder in can_cases.iterdir() if folder.is_dir())
