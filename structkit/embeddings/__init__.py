"""Embeddings and their files, written and read. May import records and below."""

IDS, DOC_IDS, FIELDS = ".ids.txt", ".doc_ids.txt", ".fields.jsonl"
HASHES, SCALES, META = ".hashes.txt", ".scales.f32", ".meta.json"
ROWS = ".rows.txt"  # the number of rows of each document, whose ids and hashes are written once
BESIDE = (IDS, DOC_IDS, FIELDS, HASHES, SCALES, ROWS, META)  # the endings of files beside NAME.npy


def files_beside(path: str) -> list[str]:
    """Return the files that may be written with NAME.npy.

    >>> files_beside("v.npy")[:2], files_beside("v.jsonl")
    (['v.ids.txt', 'v.doc_ids.txt'], [])
    """
    stem = path.removesuffix(".npy")
    return [] if stem == path else [stem + ending for ending in BESIDE]
