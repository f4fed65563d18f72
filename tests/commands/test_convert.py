"""convert: other tools' files become records and come back; what does not fit is reported."""

import json
from pathlib import Path

import pyarrow.parquet
import pytest
import pytrec_eval

from structkit.commands import convert as command
from structkit.commands.convert import Conversion, Settings
from structkit.errors import UserError
from structkit.records.stream import ErrorOptions
from tests.jsonl import read, write

FIXTURES = Path("fixtures/formats")
FOLDERS = [path for path in sorted(FIXTURES.iterdir()) if path.name != "mteb"]


def convert(files, output, source=None, target=None, errors=None, **options):
    """One conversion, as the command makes it."""
    names = {"files": tuple(map(str, files)), "output": str(output)}
    command.convert(Settings(**names, from_=source, to=target, **options), errors)


# what is written in another shape than it was read, or not at all
OTHER_SHAPE = {"ptb": "one tree a line", "bright": "read only"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_a_folder_of_every_format_becomes_records_and_the_same_bytes(
    folder, tmp_path, golden, capsys
):
    name = folder.name.partition(".")[0].replace("_", "-")
    records = tmp_path / "records"
    convert([folder], f"{records}/", source=name)
    found = sorted(path.name for path in records.iterdir())
    for part in found:
        golden(folder / "records" / part, (records / part).read_text("utf-8"))
    assert sorted(path.name for path in (folder / "records").iterdir()) == found
    parts = Conversion(Settings(from_=name)).source
    checked = 0
    for part, files in parts.inside(str(folder)).items():
        if parts.parts[part].write and name not in OTHER_SHAPE:
            back = tmp_path / Path(files[0]).name
            convert([records / f"{part}.jsonl"], back, target=name, part=part)
            assert Path(files[0]).read_bytes() == back.read_bytes()
            checked += 1
    assert checked or name in OTHER_SHAPE
    said = capsys.readouterr().err.splitlines()
    assert ["has no" in line for line in said] == [name == "tevatron"] * len(said)


def test_a_result_of_mteb(tmp_path, golden):
    convert([FIXTURES / "mteb/records/scores.jsonl"], tmp_path / "result.json", target="mteb")
    golden(FIXTURES / "mteb/results.json", (tmp_path / "result.json").read_text())
    [row] = read(FIXTURES / "mteb/results.json")
    assert 0.75 == row["scores"]["test"][0]["main_score"] == row["scores"]["test"][0]["ndcg_at_10"]


def test_beir_goes_in_and_a_trec_run_comes_out(here, tmp_path):
    beir = FIXTURES.resolve() / "beir"
    assert 0 == here("convert", "--from", "beir", beir, "-o", "records").returncode
    done = here("convert", "--from", "beir", "--to", "trec", beir, "--part", "qrels", "-o", "q.txt")
    assert (0, b"") == (done.returncode, done.stderr)
    found = ("--method", "bm25", "--queries", "records/queries.jsonl", "--format", "trec")
    done = here("search", "records/corpus.jsonl", *found, "-o", "run.trec")
    assert 0 == done.returncode, done.stderr
    with open(tmp_path / "run.trec") as runs, open(tmp_path / "q.txt") as judged:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(judged), {"ndcg"})
        values = evaluator.evaluate(pytrec_eval.parse_run(runs))
    assert {"q1": {"ndcg": 1.0}, "q2": {"ndcg": 1.0}} == values


def test_what_the_target_cannot_hold_is_told(tmp_path, capsys):
    code = {"language": "python", "code": "x = 1", "repo": "tea/kettle", "docstring": None}
    file = write(tmp_path / "code.jsonl", {"id": "7", **code}, {"id": "2", "code": "y = 2"})
    convert([file], tmp_path / "corpus.jsonl", target="beir")
    told = "structkit: beir corpus cannot hold: language (1 record), repo (1 record)\n"
    assert told == capsys.readouterr().err
    assert [
        {"_id": "7", "title": "", "text": "x = 1"},
        {"_id": "2", "title": "", "text": "y = 2"},
    ] == read(tmp_path / "corpus.jsonl")


def test_an_id_is_lost_unless_it_is_the_number_of_the_row(tmp_path, capsys):
    example = {"query": "tea", "positive": "leaves"}
    file = write(tmp_path / "in.jsonl", {"id": "1", **example}, {"id": "b", **example}, example)
    convert([file], tmp_path / "out.jsonl", target="flagembedding")
    told = "structkit: flagembedding examples cannot hold: id (1 record)\n"
    assert told == capsys.readouterr().err


def test_parquet_as_it_is_published(tmp_path):
    records = FIXTURES / "esci/records"
    file = tmp_path / "shopping_queries_dataset_examples.parquet"
    convert([records / "qrels.jsonl"], file, target="esci")
    table = pyarrow.parquet.read_table(file)
    assert read(FIXTURES / "esci/examples.jsonl") == table.to_pylist()
    assert "int64" == str(table.schema.field("query_id").type)


def test_versions_of_tevatron_and_names_of_the_hub_are_read(tmp_path):
    file = write(tmp_path / "q.jsonl", {"query_id": 3, "query_text": "tea"})
    convert([file], tmp_path / "out.jsonl", source="tevatron", part="queries")
    assert [{"id": "3", "query": "tea"}] == read(tmp_path / "out.jsonl")
    convert([FIXTURES / "codesearchnet_hub/test.jsonl"], tmp_path / "o", source="codesearchnet")
    hub = FIXTURES / "codesearchnet_hub/records/corpus.jsonl"
    assert read(hub) == read(tmp_path / "o")


# format, file, its content, the whole message after the file's name
BAD = [
    ("beir", "test.tsv", "query-id\tcorpus-id\tscore\nq\td\tmuch\n",
     ':2: field "score" is much, not a whole number; fix the record, or leave it out'),
    ("beir", "test.tsv", "query-id\tcorpus-id\tscore\nq\td\n",
     ":2: the row has 2 cells, not 3 like the header; fix the row"),
    ("beir", "test.tsv", 'query-id\tcorpus-id\tscore\nq\t"d\t1\n',
     ":2: the row's quotes do not match (unexpected end of data); fix the quotes"),
    ("trec", "a.run", "q Q0 d 1 0.5\n",
     ":1: the line has 5 columns, not 6; the columns are: query_id Q0 doc_id rank score tag"),
    ("trec", "a.run", "q Q0 d 1 nan tag\n",
     ':1: field "score" is nan, not a finite number; fix the record, or leave it out'),
    ("flagembedding", "a.jsonl", '{"query":"a","pos":[]}\n',
     ':1: field "pos" is missing or empty; give at least one positive'),
    ("flagembedding", "a.jsonl", '{"query":"a","pos":["b"],"pos_scores":[1],"neg_scores":[2]}\n',
     ':1: field "neg_scores" holds 1 scores, not 0; fix the record, or leave it out'),
    ("sentence-transformers", "a.jsonl", '{"anchor":"a","positive":["b"]}\n',
     ':1: column "positive" is not text; write strings in training columns'),
    ("esci", "examples.jsonl", json.dumps(
        {"query": "a", "query_id": 1, "product_id": "b", "product_locale": "us", "esci_label": "X"}
     ), ':1: label "X" has no gain; available: E, S, C, I'),
    ("ptb", "a.mrg", "(S (A a))\n(S (A a)\n",
     ":2: 1 bracket is not closed; fix the brackets"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "file", "text", "message"), BAD)
def test_bad_rows_have_a_place(tmp_path, name, file, text, message):
    (tmp_path / file).write_text(text)
    with pytest.raises(UserError) as error:
        convert([tmp_path / file], tmp_path / "out.jsonl", source=name)
    assert f"{tmp_path / file}{message}" == str(error.value)
    assert [file] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize(("name", "record", "message"), [
    ("trec", {"query_id": "a b", "doc_id": "c", "score": 1.0, "rank": 1},
     'query_id "a b" is empty or holds a space, which columns cannot; write JSONL, or another id'),
    ("beir", {"query_id": "a", "doc_id": "c", "relevance": 0.5},
     'field "relevance" is 0.5, not a whole number; fix the record, or leave it out'),
    ("esci", {"query_id": "1", "doc_id": "c", "relevance": 1},
     '"c" names no locale; write ids as us:B0DPZ8XK'),
    ("codexglue-adv", {"query_id": "1", "doc_id": "c", "score": 1, "rank": 1},
     'field "doc_id" is c, not a whole number; fix the record, or leave it out'),
    ("beir", {"id": "1", "tree": "(S a)", "label": 1},
     "unknown part of structkit that beir can hold 'trees'; did you mean 'qrels'? available: "
     "corpus, qrels, queries"),
])  # fmt: skip
def test_records_that_a_format_cannot_hold(tmp_path, name, record, message):
    file = write(tmp_path / "in.jsonl", record)
    with pytest.raises(UserError) as error:
        convert([file], tmp_path / "out.txt", target=name)
    assert str(error.value).removeprefix(f"{file}:1: ") == message
    assert not (tmp_path / "out.txt").exists()


HIT = {"query_id": "q", "doc_id": "d", "score": 0.1, "rank": 1}
ODD = [
    {"score": 1}, {"score": 1e22}, {"score": -1e-7, "query_id": "é%s"}, {"rank": "1"},
    {"rank": 10**20}, {"doc_id": 7}, {"doc_id": '"'}, {"tag": "bm25"}, {"tag": None},
]  # fmt: skip
ODD_LINES = {
    "run": [
        "q Q0 d 2 1e3 structkit\n", "q 0 d 02 .5 structkit\r\n", "q Q0 d 1 1_0 structkit\n", "\n",
        "q Q0 d 1 1 a\n", "q Q0 d 1 inf structkit\n", "q Q0 d 1\n", "é Q0 d\u00a01 1 structkit",
    ],
    "qrels": ["q 0 d 1.0\n", "q 1 d 1\n", "q 0 d +1\n", "q 0 d ٣\n", 'q 0 " 1\n', "q 0 d x\n"],
    "beir": [
        "q\td e\t1\n", 'q\t"d\n\te"\t1\n', 'q\t"d\t1\n', "q\t\t1\n", "q\td\t1\t2\n", "q\td\t1",
    ],
}  # fmt: skip


@pytest.mark.parametrize("part", ["run", "qrels", "beir"])
def test_blocks_are_converted_as_their_lines(tmp_path, part, monkeypatch):
    plain = {"run": "q Q0 d 1 0.25 structkit\n", "qrels": "q 0 d 1\n", "beir": "q\td\t1\n"}[part]
    head = "query-id\tcorpus-id\tscore\n" if part == "beir" else ""
    count = 80_000 // len(plain)  # rows of more than a block
    file, rejects, found = tmp_path / f"in.{'tsv' if head else part}", tmp_path / "rejects", []
    name = {"part": "qrels", "source": "beir"} if head else {"part": part, "source": "trec"}
    for odd in ["", *ODD_LINES[part]]:
        file.write_text(head + plain * count + odd + plain * count, newline="")
        for target in ("structkit", "trec"):
            for maximum in (64_000_000, 1_000):  # less than a block: line by line
                monkeypatch.setenv("STRUCTKIT_MAX_RECORD_BYTES", str(maximum))
                options = ErrorOptions(on_error="skip", rejects=str(rejects))
                convert([file], tmp_path / "out", **name, target=target, errors=options)
                count_rejected = rejects.read_bytes().count(b"\n")
                found.append(((tmp_path / "out").read_bytes(), count_rejected))
            assert found[-2] == found[-1]
            assert 2 * count - 1 <= found[-1][0].count(b"\n") <= 2 * count + 2


def test_blocks_of_records_are_converted_as_their_lines(tmp_path, monkeypatch):
    for odd in ODD:
        lines = [json.dumps(record) + "\n" for record in (HIT, HIT | odd)]
        (tmp_path / "in.jsonl").write_text(lines[0] * 5_000 + lines[1] + lines[0] * 5_000)
        found = []
        for maximum in (64_000_000, 1_000):
            monkeypatch.setenv("STRUCTKIT_MAX_RECORD_BYTES", str(maximum))
            convert([tmp_path / "in.jsonl"], tmp_path / "out", target="trec")
            found.append((tmp_path / "out").read_bytes())
        assert found[0] == found[1]
        assert 10_001 == found[0].count(b"\n")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.parquet"])
def test_tables_keep_empty_texts_and_nulls_apart(tmp_path, name):
    records = [{"id": "1", "text": "", "title": '"",""'}, {"id": "2", "text": None, "title": "a"}]
    write(tmp_path / "a.jsonl", *records)
    convert([tmp_path / "a.jsonl"], tmp_path / name)
    convert([tmp_path / name], tmp_path / "back.jsonl")
    del records[1]["text"]  # null is as absent
    assert records == read(tmp_path / "back.jsonl")


@pytest.mark.parametrize("first", [1, 2_000])
@pytest.mark.parametrize(
    ("name", "last", "said"),
    [
        ("a.csv", {"more": "x"}, 'the column "more", the first one does not'),
        ("a.parquet", {"more": "x"}, 'the column "more", the first one does not'),
        ("a.parquet", {"n": [1, "a"]}, "cannot hold its values"),
        ("a.parquet", {"n": 2**70}, "cannot hold its values"),
        ("a.csv", {"n": {"b": [2**70]}}, ""),
        ("a.parquet", {"n": {"a": None}}, ""),
    ],
)
def test_tables_hold_all_fields_or_refuse(tmp_path, here, first, name, last, said):
    write(tmp_path / "a.jsonl", *[{"id": "1", "n": {"a": 1}}] * first, {"id": "2", **last})
    done = here("convert", "a.jsonl", "--part", "corpus", "-o", name)
    assert said in done.stderr.decode() and b"Traceback" not in done.stderr
    assert bool(said) == (not (tmp_path / name).exists())
    if not said:
        held = json.loads(here("convert", name).stdout.splitlines()[-1])["n"]
        assert last["n"] == (held if isinstance(held, dict) else json.loads(held))


def test_all_parts_appear_or_none(tmp_path):
    folder = tmp_path / "beir"
    write(folder / "corpus.jsonl", {"_id": "d", "text": "tea"})
    write(folder / "queries.jsonl", {"_id": "q"})
    with pytest.raises(UserError, match=r'queries.jsonl:1: field "text" is missing'):
        convert([folder], tmp_path / "out", source="beir")
    assert [folder] == list(tmp_path.iterdir())


def test_a_split_of_another_name_is_told(tmp_path, capsys):
    folder = tmp_path / "beir"
    write(folder / "corpus.jsonl", {"_id": "d", "text": "tea"})
    (folder / "qrels").mkdir()
    (folder / "qrels/dev.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")
    convert([folder], tmp_path / "out", source="beir")
    told = capsys.readouterr().err
    assert "has no qrels/test.tsv, the file of qrels; --split names another" in told
    assert "available: dev.tsv" in told
    convert([folder], tmp_path / "both/", source="beir", split="dev")
    assert ["corpus.jsonl", "qrels.jsonl"] == sorted(
        path.name for path in (tmp_path / "both").iterdir()
    )


@pytest.mark.parametrize(("arguments", "message"), [
    ({"source": "bier"}, "unknown format 'bier'; did you mean 'beir'?"),
    ({"source": "beir", "part": "run"},
     "unknown part of beir that structkit can hold 'run'; available: corpus, qrels, queries"),
    ({"source": "beir"}, "a.txt may be any part of beir; name it with --part: corpus, queries"),
    ({"source": "beir", "target": "ptb"}, "there is no part of beir that ptb can hold;"),
    ({"target": "codexglue-adv", "part": "qrels"},
     "unknown part of structkit that codexglue-adv can hold 'qrels'; available: corpus, run"),
])  # fmt: skip
def test_wrong_usage_is_refused(tmp_path, arguments, message):
    file = write(tmp_path / "a.txt", {})
    with pytest.raises(UserError) as error:
        convert([file], tmp_path / "out", **arguments)
    assert str(error.value).startswith(message)
    assert 2 == error.value.status


@pytest.mark.parametrize("flags", [["--from", "ptb"], ["--to", "ptb"]])
def test_an_empty_file_gives_an_empty_file(flags, tmp_path, here):
    (tmp_path / "empty").write_text("")
    done = here("convert", "empty", *flags, "-o", "out")
    assert 0 == done.returncode, done.stderr
    assert b"" == (tmp_path / "out").read_bytes()
