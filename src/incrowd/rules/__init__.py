"""Association rules: mined so that every person is hidden in a crowd of at least k, or from a release."""
