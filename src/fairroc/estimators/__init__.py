"""scikit-learn's way in."""
