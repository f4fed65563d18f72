"""What text is made of: code, HTML, trees. May import records and below."""
