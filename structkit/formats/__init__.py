"""Other tools' formats, for `convert` and format plugins. May import records and below."""
