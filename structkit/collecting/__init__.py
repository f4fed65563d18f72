"""Files to records: walking, archives, kinds of files, units. May import structure and below."""
