"""The experiments behind our tables: recipes, reports, and the programs that make them."""
