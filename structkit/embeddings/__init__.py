"""Embeddings and their files, written and read. May import records and below."""

IDS_SUFFIX = ".ids.txt"
DOC_IDS_SUFFIX = ".doc_ids.txt"
FIELDS_SUFFIX = ".fields.jsonl"
HASHES_SUFFIX = ".hashes.txt"
SCALES_SUFFIX = ".scales.f32"
META_SUFFIX = ".meta.json"
ROWS_SUFFIX = (
    ".rows.txt"  # the number of rows of each document, whose ids and hashes are written once
)
SUFFIXES_BESIDE = (
    IDS_SUFFIX,
    DOC_IDS_SUFFIX,
    FIELDS_SUFFIX,
    HASHES_SUFFIX,
    SCALES_SUFFIX,
    ROWS_SUFFIX,
    META_SUFFIX,
)  # the endings of files beside NAME.npy


def files_beside(path: str) -> list[str]:
    """Return the files that may be written with NAME.npy.

    >>> files_beside("v.npy")[:2], files_beside("v.jsonl")
    (['v.ids.txt', 'v.doc_ids.txt'], [])
    """
    stem = path.removesuffix(".npy")
    return [] if stem == path else [stem + ending for ending in SUFFIXES_BESIDE]
