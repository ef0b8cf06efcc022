"""Only what the suites need when they are run from a checkout: nothing yet."""
