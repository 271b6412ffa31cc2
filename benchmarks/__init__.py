"""Measurements, as ratios within one run: machines are noisy. ``./dev bench`` lists them, ``./dev bench NAME`` runs one."""
