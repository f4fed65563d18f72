"""The structure of text: code, HTML, trees. May import records and below."""
