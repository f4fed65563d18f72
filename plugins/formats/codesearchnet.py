"""CodeSearchNet: functions with their documentation; reads the hub's field names too."""

from functools import partial

from structkit import plugin
from structkit.formats.interchange import Fields, Part, Parts
from structkit.records.jsonl import Record

from ._codesearchnet import SAME_NAMES, function_row

# fields on the Hugging Face hub, which has no `sha`, by the fields of the files, which are ours
HUB_NAMES = {
    "repo": "repository_name",
    "path": "func_path_in_repository",
    "func_name": "func_name",
    "original_string": "whole_func_string",
    "language": "language",
    "code": "func_code_string",
    "code_tokens": "func_code_tokens",
    "docstring": "func_documentation_string",
    "docstring_tokens": "func_documentation_tokens",
    "url": "func_code_url",
    "partition": "split_name",
}
OUR_NAMES = {theirs: ours for ours, theirs in HUB_NAMES.items()}


def read_function(row: Fields) -> Record:
    """Read a function from a row with either set of names."""
    record = Fields((OUR_NAMES.get(name, name), value) for name, value in row.items())
    return {"code": record.pop_field("code")} | record


class Format(plugin.Format):
    """Functions."""

    names = SAME_NAMES
    """The field names to write."""

    files = ("{}.jsonl", "*_{}_*.jsonl.gz", "*.jsonl", "*.parquet")
    """The usual names of files, by split."""

    def parts(self, split: str) -> Parts:
        write = partial(function_row, names=self.names)
        files = tuple(name.format(split) for name in self.files)
        return {"corpus": Part(files, read_function, write)}
