"""DMPD: features shared out among disjoint tables, found by genetic search."""
