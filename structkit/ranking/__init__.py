"""Ranking: hits in a better order, by rankers and their weights. May import search and below."""
