"""What an adversary gets out of a release: linking, matching, reconstruction, classification, intersection."""
