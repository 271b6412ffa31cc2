"""Plant small mistakes in the code and see whether the tests notice.

Tools that exist do not fit: mutmut rewrites every function into a switch, which Numba cannot compile, and cosmic-ray
runs one command in the working tree for every mutant. A sample needs neither.
"""
