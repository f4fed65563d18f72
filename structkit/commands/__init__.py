"""One file per subcommand: what it does, without its flags. May import asking and below."""
