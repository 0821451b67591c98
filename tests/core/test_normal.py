"""The normal distribution against scipy's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import ndtri

from fairroc.core.normal import quantile


@given(arrays(np.float64, 50, elements=st.floats(1e-300, 1.0, exclude_max=True) | st.floats(0.01, 0.99)))
def test_quantiles(p) -> None:
    assert np.allclose(quantile(p), ndtri(p), rtol=1e-13, atol=1e-14)
