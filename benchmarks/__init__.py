"""Tables, not pass or fail: values against published and independent ones, speed against a baseline in the same run."""
