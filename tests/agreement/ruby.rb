# Names by Ruby's own lexer: ruby ruby.rb < rows.jsonl
require "ripper"
require "json"
OPEN = %i[on_tstring_beg on_regexp_beg on_backtick on_words_beg on_qwords_beg on_symbols_beg on_qsymbols_beg]
CLOSE = %i[on_tstring_end on_regexp_end on_label_end]
NAMES = %i[on_ident on_const on_ivar on_cvar on_gvar on_backref]
Ripper::Lexer # names are those outside strings, symbols and comments

def names(code)
  found, depth, heredocs = [], 0, 0
  lexed = Ripper.lex(code).map { |(_, type, text, state)| [type, text, state] }
  previous = nil
  stack = [] # what is open: :string, or :code inside an interpolation
  body = false
  lexed.each_with_index do |(type, text, _state), at|
    if type == :on_heredoc_beg then heredocs += 1; previous = type; next end
    # Ripper lists a heredoc's body behind the line of its start, in order
    if type == :on_heredoc_end then heredocs -= 1; body = false; previous = type; next end
    body = true if heredocs > 0 && type == :on_nl
    body = true if heredocs > 0 && (type == :on_tstring_content && stack.empty?)
    if type == :on_symbeg
      if text == ":" then previous = :symbol; next end
      stack.push(:string); previous = type; next
    end
    if OPEN.include?(type)
      if type == :on_backtick && stack.last == :string && text == "`" then stack.pop else
      stack.push(:string) end
      previous = type; next
    end
    if CLOSE.include?(type) then stack.pop; previous = type; next end
    next if !stack.empty? || body
    if previous == :symbol then previous = type; next end # the word of a symbol
    if NAMES.include?(type)
      found << text
    elsif type == :on_label
      found << text.chomp(":")
    elsif type == :on_kw
      # a keyword that is the name of a method: x.class, def end
      before = lexed[0...at].reverse.find { |kind, *_| !%i[on_sp on_ignored_nl on_nl].include?(kind) }
      found << text if before && (%w[. &. ::].include?(before[1]) && before[0] != :on_kw || before[1] == "def") && text != "self"
    end
    previous = type unless type == :on_sp
  end
  found
rescue StandardError
  nil
end

$stdin.each_line do |line|
  row = JSON.parse(line)
  puts JSON.generate("id" => row["id"], "names" => Ripper.sexp(row["code"]) && names(row["code"]))
end
