"""`make bench`: every benchmark of the folder, one after the other."""

from tests.benchmarks import records

records.main()
