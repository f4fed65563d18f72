"""Common English words with their Penn Treebank tags, mainly of closed classes.

Tests: tests/structure/trees/test_trees.py.
"""

_CLASSES = {
    "DT": """
        a an the this that these those each every either neither some any no all both half another
        such
        """,
    "IN": """
        about above across after against along although among around as at because before behind
        below beneath beside besides between beyond by despite down during except for from if in
        inside into like near of off on onto out outside over past per since than though through
        throughout till toward towards under underneath unless until up upon via whereas whether
        while with within without
        """,
    "CC": "and or but nor yet plus versus",
    "TO": "to",
    "PRP": """
        i you he she it we they me him us them myself yourself himself herself itself ourselves
        yourselves themselves anyone everyone someone nobody none one's mine yours hers ours
        theirs
        """,
    "PRP$": "my your his her its our their",
    "WDT": "which whatever whichever",
    "WP": "who whom what whoever",
    "WP$": "whose",
    "WRB": "when where why how whenever wherever however",
    "MD": "can could may might must shall should will would ca wo 'll 'd cannot",
    "VBP": "am are 'm 're 've have do",
    "VBZ": "is has does 's",
    "VB": """
        be get make let go come take give see find keep enjoy choose add ensure provide allow
        include require know buy send want need forget save specify cancel
        """,
    "VBD": "was were had did got made",
    "VBN": "been done gone given taken known shown",
    "VBG": "being having doing",
    "EX": "there",
    "RB": """
        n't not never ever always often also too very just only even still already again here now
        then so quite rather almost maybe perhaps soon together away else instead well far more
        most less least much once twice
        """,
    "NN": """
        family assembly supply jelly reply butterfly metal manual material journal medal portal
        signal animal total meal plastic fabric ceramic music acrylic traffic clinic comic string
        spring earring clothing lighting packaging bedding dining building something everything
        nothing anything seed speed bed
        """,
    "JJ": """
        ready right single favorite nationwide storewide online fast other many few several own
        same new old good best better great little large small big high low long short wide full
        free easy hard soft light dark black white red blue green yellow brown pink gray grey
        silver clear perfect ideal able available unique different next last first second third
        fresh clean dry wet hot cold warm cool thin thick heavy strong safe
        """,
    "CD": "one two three four five six seven eight nine ten eleven twelve hundred thousand million",
    "UH": "oh yes please",
    "POS": "'",
}

TAGS = {word: tag for tag, words in _CLASSES.items() for word in words.split()}
"""Words in lower case, each with its most frequent tag."""

STOPWORDS = frozenset(
    word for word, tag in TAGS.items() if tag not in ("NN", "JJ", "CD", "VB", "VBN")
)
"""Words that occur in every text and characterize none."""
