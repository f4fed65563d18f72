"""`make bench`: every benchmark of the folder, one after the other.

Arguments, such as `--data ../shared/data/codesearch`, go to the one on languages.
"""

from tests.benchmarks import (
    database,
    encode,
    html,
    languages,
    records,
    score,
    search,
    strae,
    training,
)

records.main()
html.main([])
strae.main([])
training.main([])
encode.main([])
search.main([])
database.main([])
score.main()
languages.main()
