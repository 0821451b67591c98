"""The normal distribution against scipy's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import ndtr, ndtri

from fairroc.core.normal import quantile, share


@given(arrays(np.float64, 50, elements=st.floats(-1e6, 1e6) | st.floats(-9, 9)))
def test_shares(x) -> None:
    assert np.abs(share(x) - ndtr(x)).max() <= 1e-14


@given(arrays(np.float64, 50, elements=st.floats(1e-300, 1.0, exclude_max=True) | st.floats(0.01, 0.99)))
def test_quantiles(p) -> None:
    assert np.allclose(quantile(p), ndtri(p), rtol=1e-13, atol=1e-14)
