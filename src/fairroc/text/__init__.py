"""Every sentence a user reads that is not an error."""
