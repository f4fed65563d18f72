"""What `make` would run, without running it."""

import re
from pathlib import Path

from conftest import completed

# of STS, relatedness, paraphrases and entailment, by which models of StrAE's family are scored
TASKS = (
    *("simlex999", "wordsim353_similarity", "wordsim353_relatedness", "sts12_test", "sts16_test"),
    *("stsb_test", "sick_r_test", "mrpc_test", "mrpc_train", "rte_dev", "rte_train"),
)
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
PAGES = {
    path.stem: {*FLAG.findall(path.read_text("utf-8"))}
    for path in Path("fixtures/help").glob("*.txt")
}


def dry(target, *variables):
    """The commands that would make a target: their flags are known, their folders are there."""
    options = ["--dry-run", "--always-make", "--no-print-directory", "EXPERIMENTS=experiments/*.mk"]
    command = ["make", *options, target, *variables]
    done = completed(command, text=True, check=True)
    lines = done.stdout.replace("\\\n", " ").splitlines()
    made = set()
    for line in lines:
        assert not re.search(r"[/@]%|%[.@]", line), f"a pattern is left in {line}"
        # programs of experiments make their folder
        for folder in re.findall(r"(?:mkdir -p|experiments\..* --folder) ([^;&|]+)", line):
            made |= {each for name in folder.split() for each in (Path(name), *Path(name).parents)}
        for file in map(Path, re.findall(r" (?:-o|>) ?([\w./@+-]+)(?= |$)", line)):
            # what an earlier run left in the checkout is not there for everybody
            there = file.is_absolute() and file.parent.exists()
            assert file.parent in made or there, f"no folder for {file}: {line}"
        commands = re.findall(r"/structkit ((?:train |plot )?[a-z-]+)( [^|;>]*)", line)
        for command, words in commands:
            strange = {*FLAG.findall(words)} - PAGES[command.replace(" ", "-")]
            assert not strange, f"structkit {command} has no {strange}: {line}"
    return lines


def flag(command, name):
    """The value of a flag, of several the last one, which counts; None where it is not there."""
    return (re.findall(rf" {name} (\S+)", command) or [None])[-1]


def trained(commands):
    """The trainings by their model's name, without the folder: system and seed."""
    trainings = [command for command in commands if " train " in command]
    return {re.search(r"([^/]*?)(\.model)?$", flag(each, "-o"))[1]: each for each in trainings}


def touched(folder, *names):
    """Empty files in the places of the data."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.jsonl.gz").touch()
    return folder
