"""The benchmark harness: data, measurement in child processes, peers, report."""
