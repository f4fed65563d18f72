"""One file per subcommand: what it does, without flags and files."""
