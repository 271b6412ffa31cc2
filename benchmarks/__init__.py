"""Measurements, as ratios within one run, because machines are noisy: ``./dev bench NAME``."""
