"""Languages of code, and texts of each: the inputs of its fixtures."""

from pathlib import Path

CODE = (
    *("c", "cpp", "csharp", "go", "java", "javascript", "php", "python", "ruby", "rust"),
    "typescript",
)
FIXTURES = {
    language: [
        path.read_text("utf-8").split("---input---\n")[1].split("\n---masked---\n")[0]
        for path in sorted(Path("fixtures/languages", language).glob("*.txt"))
    ]
    for language in CODE
}
