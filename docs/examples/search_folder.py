"""Search a folder: collect its code, pages and texts, and answer questions by their words.

python docs/examples/search_folder.py FOLDER QUESTION …
"""

import sys

if __name__ == "__main__" and len(sys.argv) < 3:
    sys.exit(__doc__)  # before anything slow is imported

from structkit import collect, search


def main(folder: str, *questions: str) -> None:
    """Print the three best places for each question."""
    records = list(collect(folder))
    place = {record["id"]: (record["path"], record["lines"][0]) for record in records}
    for hit in search(records, query=questions, method="bm25", k=3):
        path, line = place[hit["doc_id"]]
        print(f"{hit['query_id']}.{hit['rank']}  {path}:{line}  {hit['score']:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
