"""One file per parser: text to trees."""
