"""Studies: settings times seeds, scored and compared."""
