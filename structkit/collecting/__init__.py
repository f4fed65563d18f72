"""Files to records: walking, archives, kinds of files, units. May import structure and below."""

MARKDOWNS = ("md", "markdown", "mdown", "mkd", "mdx", "rmd", "qmd")  # extensions
