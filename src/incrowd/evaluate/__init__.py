"""How much a release costs a classifier: protocols, classifiers, statistics."""
