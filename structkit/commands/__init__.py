"""One file per subcommand: its work, without its flags. May import asking and below."""
