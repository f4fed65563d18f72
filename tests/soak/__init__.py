"""Bad input for every command: each field, line and file spoiled, one at a time: `make soak`.

`sessions` are good command lines, `spoilers` spoil one thing of each, `verdicts` say what a command
must never do: a traceback, half a file, a changed input, a line without a remedy.
"""
