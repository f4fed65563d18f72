"""Ranking: reordering hits by rankers and their weights. May import search and below."""
