"""Checks that take longer than tests: of what the tests notice (`mutants`), and of what a release survives."""
