<?php // Names by PHP's own tokenizer: php php.php < rows.jsonl   (types are told by their neighbors)
const SKIP = [T_WHITESPACE, T_COMMENT, T_DOC_COMMENT];
function names(string $code): ?array {
    try { $all = PhpToken::tokenize("<?php class A {" . $code . "\n}", TOKEN_PARSE); }
    catch (ParseError) {
        try { $all = PhpToken::tokenize("<?php " . $code); } catch (Error) { return null; }
    }
    $tokens = []; $depth = 0; $in = false;
    $at = 0; $start = null;
    foreach ($all as $token) {
        if ($token->is(SKIP)) continue;
        if ($token->id === T_START_HEREDOC) { $in = true; continue; }
        if ($token->id === T_END_HEREDOC) { $in = false; $tokens[] = null; continue; }
        if (in_array($token->text, ['"', '`'], true) && !($in === true)) {
            $in = $in === $token->text ? false : $token->text; if (!$in) $tokens[] = null; continue;
        }
        if ($in === $token->text) { $in = false; $tokens[] = null; continue; }
        if (!$in) $tokens[] = $token;
    }
    $names = [];
    foreach ($tokens as $i => $token) {
        if (!$token || $token->pos < 15 && str_starts_with($all[0]->text, '<?php') && $token->text === 'A' && $i < 3) continue;
        if ($token->id === T_VARIABLE) {
            if ($token->text !== '$this') $names[] = substr($token->text, 1);
            continue;
        }
        if (!$token->is([T_STRING, T_NAME_QUALIFIED, T_NAME_FULLY_QUALIFIED, T_NAME_RELATIVE])) continue;
        if (in_array(strtolower($token->text), ['true', 'false', 'null', 'self', 'parent'])) {
            $p = $tokens[$i - 1] ?? null;
            if (!$p || !in_array($p->text, ['->', '::', '?->'])) continue;
        }
        if ($token->text === 'class' && ($tokens[$i - 1] ?? null)?->text === '::') continue;
        if (is_type($tokens, $i)) continue;
        $parts = explode('\\', $token->text);
        if ($token->is(T_NAME_RELATIVE)) array_shift($parts);
        foreach ($parts as $part) if ($part !== '') $names[] = $part;
    }
    return $names;
}
function is_type(array $tokens, int $i): bool {
    $before = $tokens[$i - 1] ?? null;
    if ($before?->is([T_NEW, T_INSTANCEOF, T_EXTENDS, T_IMPLEMENTS, T_CLASS, T_ATTRIBUTE])) return true;
    // a type stands before its variable, with | & ? between alternatives: Foo|null $x, Foo &...$x
    $simple = [T_STRING, T_NAME_QUALIFIED, T_NAME_FULLY_QUALIFIED, T_ARRAY, T_CALLABLE, T_STATIC];
    $j = $i + 1;
    while (($t = $tokens[$j] ?? null) && ($t->text === '|' || $t->is(T_AMPERSAND_NOT_FOLLOWED_BY_VAR_OR_VARARG)) && ($tokens[$j + 1] ?? null)?->is($simple)) $j += 2;
    $t = $tokens[$j] ?? null;
    if ($t?->is([T_AMPERSAND_FOLLOWED_BY_VAR_OR_VARARG, T_ELLIPSIS])) { $u = $tokens[$j + 1] ?? null; if ($u?->is([T_VARIABLE, T_ELLIPSIS])) { $k = $i; while ($tokens[$k - 1]?->text === '|' || $tokens[$k - 1]?->is($simple)) $k--; $b = $tokens[$k - 1]; if ($b && (in_array($b->text, ['(', ',', '?']))) return true; } }
    if ($t?->is(T_VARIABLE)) return true;
    // ... and behind the ) of a parameter list and a colon
    $k = $i;
    while (($tokens[$k - 1] ?? null)?->text === '|' || ($tokens[$k - 1] ?? null)?->text === '?' || ($tokens[$k - 1] ?? null)?->is($simple)) $k--;
    if (($tokens[$k - 1] ?? null)?->text === ':' && ($tokens[$k - 2] ?? null)?->text === ')') {
        $depth = 0;
        for ($m = $k - 2; $m >= 0; $m--) {
            if ($tokens[$m]?->text === ')') $depth++;
            if ($tokens[$m]?->text === '(' && --$depth === 0) break;
        }
        $f = $tokens[$m - 1] ?? null; $g = $tokens[$m - 2] ?? null;
        return (bool) ($f?->is([T_FUNCTION, T_FN, T_USE]) || $g?->is(T_FUNCTION) || $g?->text === '&' || $g?->is([T_AMPERSAND_NOT_FOLLOWED_BY_VAR_OR_VARARG]));
    }
    // the classes of a catch
    $k = $i;
    while (($tokens[$k - 1] ?? null)?->text === '|' || ($tokens[$k - 1] ?? null)?->is($simple)) $k--;
    return ($tokens[$k - 1] ?? null)?->text === '(' && ($tokens[$k - 2] ?? null)?->is(T_CATCH);
}
while (($line = fgets(STDIN)) !== false) {
    $row = json_decode($line, true);
    echo json_encode(['id' => $row['id'], 'names' => names($row['code'])], JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE), "\n";
}
