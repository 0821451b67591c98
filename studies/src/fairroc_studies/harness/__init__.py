"""What every study uses: the store of what was computed, progress, tables and pages."""
