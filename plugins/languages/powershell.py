"""PowerShell: names of variables, functions, commands, parameters and members; types if asked for.

The `$` of a variable belongs to its name.
"""

from structkit.structure.code import CodeLanguage, DocComments, Outline, grammar_of


class Language(CodeLanguage):
    """Every name; `types` adds the names of types."""

    aliases = ("pwsh", "ps1")
    extensions = ("ps1", "psm1", "psd1")
    interpreters = ("pwsh",)
    grammar = grammar_of(
        "tree_sitter_powershell",
        take="variable function_name command_name simple_name",
        skip="verbatim_string_characters verbatim_here_string_characters comment",
        type_names="type_identifier",
        types="class_statement>simple_name enum_statement>simple_name",
        never="$_ $null $true $false $this $args $input",
        opaque=(
            rb"<#.*?(?:#>|\Z)",
            rb"#[^\n]*",
            rb"@'\n.*?(?:\n'@|\Z)",
            rb"'(?:''|[^'])*+'?",
        ),
    )
    outline = Outline(
        grammar,
        functions=("function_statement", "class_method_definition"),
        scopes={"class_statement": "class"},
        comments=DocComments(begin=r"#|<#", gap="blank", marks=r"<#+|#+>|#+"),
        names={
            "function_statement": "function_name",
            "class_method_definition": "simple_name",
            "class_statement": "simple_name",
        },
    )
