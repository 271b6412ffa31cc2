"""Models in which every person is hidden in a crowd of at least k."""
