"""One file per language: where its entities are. Tests: tests/structure/code/test_languages.py."""
