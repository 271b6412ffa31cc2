"""How far the rows of a group reach, in whatever order they stand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incrowd.verify.extents import _ends


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=12))
def test_ends_are_the_smallest_and_the_largest_of_each_owner(drawn):
    rows = [*drawn, (0, 5), (1, 5), (2, 5), (3, 5)]  # every owner has a row
    owner, codes = (np.array(column, np.int32) for column in zip(*rows, strict=True))
    least, most = _ends(codes, owner)
    own = [[code for who, code in rows if who == number] for number in range(4)]
    assert least.tolist() == [min(found) for found in own]
    assert most.tolist() == [max(found) for found in own]
