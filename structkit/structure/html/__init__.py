"""HTML: its elements, markup and variants."""
