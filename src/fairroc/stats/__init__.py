"""Statistics: bands, bootstrap, AUC variance, calibration, two-sample tests."""
