"""What an agent reads until a passage answers."""

from experiments.repositories import Found, cost

FOUND = [
    Found("a.py", 1, 9, "one two"),
    Found("b.py", 1, 9, "three"),
    Found("b.py", 10, 19, "four five"),
]


def test_passages_are_counted_up_to_the_one_that_answers():
    file, part = {"doc_id": "r/b.py"}, {"doc_id": "r/b.py", "start_line": 9, "end_line": 9}
    after = {"doc_id": "r/b.py", "start_line": 10, "end_line": 30}
    for labels, tokens in ([file], 3), ([part], 3), ([after], 5), ([after, file], 3), ([], None):
        assert tokens == cost(FOUND, labels, lambda text: len(text.split()))
