"""Bad input for every command: each field, file, folder and flag spoiled, one at a time.

    python -m tests.soak [--count 5000] [--seed N] [--after N] [--only COMMAND] [--jobs N]

`sessions` are good command lines, `spoilers` spoil one thing of each, `program` runs them, and
`verdicts` say what a command must never do: a traceback, a wait, half a file, a changed input, a
line without a remedy, a wrong exit status.
"""
